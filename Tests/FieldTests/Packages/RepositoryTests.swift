import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// apt and dnf with the signed repositories, each with a root or lists of its own.
@Suite(
  .onStage,
  .enabled(if: BuiltPackage.areThere, "takes 'make deb rpm' and Debian's rpm"),
  .enabled(
    if: geteuid() == 0
      && ["apt-ftparchive", "createrepo_c", "dnf", "gpg"].allSatisfy {
        Programs.installed($0) != nil
      },
    "takes root, apt-utils, createrepo-c, dnf, gpg"))
struct RepositoryTests {
  private let repository: SignedRepository
  /// The folder of apt, or of dnf.
  private let place: String

  init() throws {
    repository = try SignedRepository()
    place = try Stage.current().newFile("place")
  }

  // MARK: apt

  /// With the host's list of what is installed, so that the libraries are there.
  private func apt(_ words: String) throws -> TestHost.Outcome {
    try BuiltPackage.shell(
      """
      mkdir -p "$1"/etc/{keyrings,apt.conf.d,preferences.d,sources.list.d,trusted.gpg.d} \
        "$1"/state/lists/partial "$1"/cache/archives/partial
      cp "$3/credd.asc" "$1/etc/keyrings/"
      # apt locks the folder of this file.
      cp /var/lib/dpkg/status "$1/state/status"
      echo "deb [signed-by=$1/etc/keyrings/credd.asc] $2/deb stable main" >"$1/etc/sources.list"
      apt-get -o Dir::Etc="$1/etc" -o Dir::State="$1/state" -o Dir::Cache="$1/cache" \
        -o Dir::State::status="$1/state/status" -o APT::Sandbox::User=root \
        -o APT::Get::Assume-Yes=true -o APT::Get::Download-Only=true \(words)
      """, place, repository.url, repository.folder)
  }

  @Test func aptTakesThePackages() throws {
    expect(try apt("update").status, equals: 0)
    let outcome = try apt("install --reinstall credd credd-sandbox")
    expect(outcome.status, equals: 0, "\(outcome)")
    let same = try BuiltPackage.shell(
      "cmp \"$1\" \"$2\"/cache/archives/credd_*.deb", try #require(BuiltPackage.deb("credd")), place
    )
    expect(same.status, equals: 0, "\(same)")
  }

  @Test func aptRefusesAChangedPackage() throws {
    expect(try apt("update").status, equals: 0)
    try repository.damage(repository.package(in: "deb/pool"))
    let outcome = try apt("install --reinstall credd")
    expect(outcome.status, equals: 100)
    expect(outcome.errors.contains("Hash Sum mismatch"), "\(outcome)")
  }

  /// Who can write to the web server has no key.
  @Test func aptRefusesListsThatWereMadeForAChangedPackage() throws {
    try repository.damage(repository.package(in: "deb/pool"))
    let making = try BuiltPackage.shell(
      """
      list=$(echo dists/stable/main/binary-*)
      apt-ftparchive --arch "${list##*-}" packages pool >"$list/Packages"
      gzip -9nf --keep "$list/Packages"
      apt-ftparchive -o APT::FTPArchive::Release::Components=main release dists/stable >Release
      {
        sed -n 1,3p dists/stable/InRelease
        cat Release
        sed -n '/BEGIN PGP SIGNATURE/,$p' dists/stable/InRelease
      } >InRelease
      mv Release InRelease dists/stable/
      """, in: repository.folder + "/deb")
    expect(making.status, equals: 0, "\(making)")
    let update = try apt("update")
    expect((update.output + update.errors).contains("signatures were invalid"), "\(update)")
    expect(try apt("install --reinstall credd").status, equals: 100)
  }

  // MARK: dnf

  /// A host that has what the packages want, as an RPM of the distribution would: its name is `host`.
  private static let host = """
    Name: host
    Version: 1
    Release: 1
    Summary: What a host has
    License: none
    BuildArch: noarch
    Provides: systemd = 252
    %{lua:for line in io.lines(macros.wanted) do print("Provides: " .. line .. "\\n") end}
    %description
    For tests.
    %files
    """

  /// Installs into a root of its own, with a database of its own. Scripts want a whole system:
  /// SystemTests run them.
  private func dnf(_ words: String, verifiesLists: Bool = true) throws -> TestHost.Outcome {
    try BuiltPackage.shell(
      """
      export HOME=$1
      mkdir -p "$1"/{repos,host,root/etc,root/var/log}
      printf 'root:x:0:0::/:/bin/sh\\ncredd:x:900:900::/:/bin/sh\\n' >"$1/root/etc/passwd"
      printf 'root:x:0:\\ncredd:x:900:\\n' >"$1/root/etc/group"
      rpm --query --package --requires "$4" "$5" |
        grep -vE '^(rpmlib|config|credd|systemd)' | sort -u >"$1/wanted"
      cat >"$1/host.spec" <<<"$6"
      rpmbuild -bb --quiet --define "_topdir $1/top" --define "_rpmdir $1/host" \
        --define "wanted $1/wanted" "$1/host.spec"
      createrepo_c --quiet --no-database "$1/host"
      cat >"$1/repos/credd.repo" <<REPOSITORIES
      [credd]
      name=credd
      baseurl=$2/rpm/\\$basearch
      gpgcheck=1
      repo_gpgcheck=$3
      gpgkey=$2/credd.asc
      [host]
      name=host
      baseurl=file://$1/host
      gpgcheck=0
      REPOSITORIES
      cat >"$1/dnf.conf" <<CONFIGURATION
      [main]
      reposdir=$1/repos
      cachedir=$1/cache
      logdir=$1
      persistdir=$1/state
      pluginpath=$1/none
      tsflags=noscripts
      CONFIGURATION
      dnf --config "$1/dnf.conf" --installroot "$1/root" --releasever 1 --assumeyes \(words)
      """, place, repository.url, verifiesLists ? "1" : "0",
      try #require(BuiltPackage.rpm("credd")), try #require(BuiltPackage.rpm("credd-sandbox")),
      Self.host)
  }

  @Test func dnfInstallsThePackages() throws {
    let outcome = try dnf("install credd credd-sandbox")
    expect(outcome.status, equals: 0, "\(outcome)")
    let verified = try BuiltPackage.shell(
      "HOME=$1 rpm --root \"$1/root\" --verify credd credd-sandbox && \"$1/root/usr/bin/credctl\" --version",
      place)
    expect(verified.status, equals: 0, "\(verified)")
    expect(verified.output.split(separator: "\n").count, equals: 1, "\(verified)")
  }

  @Test func dnfRefusesAChangedPackage() throws {
    try repository.damage(repository.package(in: "rpm/" + BuiltPackage.processor))
    let outcome = try dnf("install credd")
    expect(outcome.status, equals: 1)
    expect(outcome.output.contains("checksum doesn't match"), "\(outcome)")
  }

  /// Who can write to the web server has no key. The RPM's own signature holds where lists are not
  /// verified.
  @Test(arguments: [true, false])
  func dnfRefusesListsThatWereMadeForAChangedPackage(_ verifiesLists: Bool) throws {
    let folder = "\(repository.folder)/rpm/\(BuiltPackage.processor)"
    let making = try BuiltPackage.shell(
      """
      mv repodata/repomd.xml.asc .
      HOME=$1 rpmsign --delsign credd-[0-9]*.rpm
      createrepo_c --quiet --no-database .
      mv repomd.xml.asc repodata/
      """, place, in: folder)
    expect(making.status, equals: 0, "\(making)")
    let outcome = try dnf("install credd", verifiesLists: verifiesLists)
    expect(outcome.status, equals: 1)
    let message = verifiesLists ? "Bad GPG signature" : "is not signed"
    expect((outcome.output + outcome.errors).contains(message), "\(outcome)")
  }

  // MARK: Bad input

  @Test(arguments: [
    (
      "",
      "no key: say KEY= the fingerprint of the key that signs; 'gpg --list-secret-keys' lists yours"
    ),
    ("0123", "not a fingerprint: '0123'; it has 40 digits from 0 to F"),
    (
      String(repeating: "0", count: 40),
      "gpg has no secret key \(String(repeating: "0", count: 40)): import it, or take one of "
        + "'gpg --list-secret-keys'"
    ),
  ])
  func withoutAKeyNothingIsSigned(_ key: String, _ message: String) throws {
    let outcome = try BuiltPackage.shell(
      "mkdir --mode=700 \"$2\" && GNUPGHOME=$2 scripts/build-repo 0.2.0 \"$1\" \"$2/repo\"", key,
      try Stage.current().newFile("gnupg"))
    expect(outcome.status, equals: 1)
    expect(outcome.errors, equals: "build-repo: \(message)\n")
  }
}
