import Foundation
import Glibc
import Testing

@testable import DaemonHarness

/// A host with containers: credd at its usual path, podman with an image that was made here, and a
/// user `alice`. It has mounts, processes and a network of its own, so nothing of it stays behind but
/// empty control groups.
final class ContainerHost {
  static var isPossible: Bool { OtherUser.canBe }

  /// Nil where every program is there.
  static let missing: [String] = [
    "podman", "runc", "newuidmap", "curl", "ip", "nsenter", "systemd-nspawn", "unshare",
  ].filter { Programs.installed($0) == nil }

  /// Whether the kernel lets root stack file systems and make these namespaces, and users theirs.
  static let kernelCan: Bool = {
    guard isPossible, missing.isEmpty, OtherUser.canMakeUserNamespaces,
      let unshare = Programs.installed("unshare")
    else { return false }
    let trial = Process()
    trial.executableURL = URL(filePath: unshare)
    trial.arguments = [
      "--mount", "--net", "--pid", "--fork", "--propagation", "private", "/bin/sh", "-c",
      "mount -t tmpfs tmpfs /run && mkdir /run/u /run/w && "
        + "mount -t overlay -o lowerdir=/usr/bin,upperdir=/run/u,workdir=/run/w overlay /usr/bin",
    ]
    trial.standardError = FileHandle.nullDevice
    guard (try? trial.run()) != nil else { return false }
    trial.waitUntilExit()
    return trial.terminationStatus == 0
  }()

  private let holder: ChildProcess
  /// The first process of the host's own namespaces.
  private let leader: pid_t

  /// - Parameter profiles: sections of the configuration, with `$SANDBOX` for the sandbox's URL.
  init(_ profiles: String) throws {
    let stage = try Stage.current()
    let (script, configuration) = (stage.newFile("host.sh"), stage.newFile("credd.conf"))
    let ready = stage.newFile("ready")
    let text = Configuration.http(url: "\(Self.sandbox)/token") + profiles
    try Data(text.utf8).write(to: URL(filePath: configuration))
    try Data(Self.setUp.utf8).write(to: URL(filePath: script))
    holder = try ChildProcess(
      [
        try #require(Programs.installed("unshare")), "--mount", "--net", "--pid", "--fork",
        "--mount-proc", "--kill-child", "--propagation", "private", "/bin/bash", script,
      ],
      environment: [
        "PROGRAMS": Programs.folder, "SIGNING_KEY": Programs.signingKey,
        "CONFIGURATION": configuration, "READY": ready, "FOLDER": stage.folder,
        "PATH": Self.path,
      ])
    let (holder, limit) = (holder, Deadline.in(.seconds(120)))
    try limit.wait(for: "the host of containers") {
      if let status = holder.status {
        throw Overdue("the host of containers: \(status) \(holder.errors)")
      }
      return FileManager.default.fileExists(atPath: ready)
    }
    let children = try String(
      contentsOfFile: "/proc/\(holder.pid)/task/\(holder.pid)/children", encoding: .utf8)
    leader = try #require(children.split(separator: " ").first.flatMap { pid_t($0) })
  }

  // unshare(1) waits for its child, whatever signal it gets.
  deinit { if holder.status == nil { kill(leader, SIGKILL) } }

  private static let path = "/usr/sbin:/usr/bin:/sbin:/bin"
  static let sandbox = "http://127.0.0.1:4599"

  /// What credd logged.
  var log: String { holder.errors }

  /// Runs a script as the host's root, or as its user alice, from an empty folder.
  func run(_ script: String, as user: String = "root") throws -> TestHost.Outcome {
    let file = try Stage.current().newFile("script")
    try Data((Self.functions + script + "\n").utf8).write(to: URL(filePath: file))
    let process = try ChildProcess(
      [
        try #require(Programs.installed("nsenter")), "--target", "\(leader)", "--mount", "--net",
        "--pid", "--wd=/", "/bin/bash", "/run/as", user, file,
      ], environment: ["PATH": Self.path])
    let status = try process.wait(.in(.seconds(120)))
    return TestHost.Outcome(status: status, output: process.output, errors: process.errors)
  }

  /// Outside a machine with systemd, nspawn can neither register a container nor have a unit made.
  private static let functions = """
    set -euo pipefail
    umask 022
    cd "$(mktemp --directory --tmpdir=/run/work)"
    systemd-nspawn() { command systemd-nspawn --quiet --register=no --keep-unit "$@"; }

    """

  /// The files of the host are this machine's, with changes in memory.
  private static let setUp = #"""
    set -euo pipefail
    # The folder of the tests may be closed to other users, and so may be the files that they make.
    cd /
    umask 022
    ip link set lo up
    mount -t tmpfs -o mode=755 tmpfs /run
    change() {
      mkdir -p "/run/changes$1"/{upper,work}
      chmod 755 "/run/changes$1/upper"
      mount -t overlay \
        -o "lowerdir=$1,upperdir=/run/changes$1/upper,workdir=/run/changes$1/work" overlay "$1"
    }
    change /etc
    change /usr/bin
    change /var/lib
    # Where podman has run before, it would go on with another kind of storage.
    mkdir -p /var/lib/containers
    mount -t tmpfs tmpfs /var/lib/containers
    install -m 755 "$PROGRAMS/credctl" /usr/bin/credctl
    echo 'alice:x:1717:1717::/run/alice:/bin/bash' >>/etc/passwd
    echo 'alice:x:1717:' >>/etc/group
    echo 'alice:100000:65536' | tee /etc/subuid >/etc/subgid
    chmod 644 /etc/subuid /etc/subgid
    install -d /run/credd /var/lib/machines/app
    install -d -m 1777 /run/work
    install -d -m 700 -o 1717 -g 1717 /run/alice /run/alice/runtime

    # Containers with a network of their own, in which there is loopback alone. No systemd is here,
    # and a container of ours may be within narrower limits than podman's defaults.
    cat >/run/containers.conf <<END
    [containers]
    netns = "none"
    log_driver = "none"
    default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
    [engine]
    runtime = "runc"
    cgroup_manager = "cgroupfs"
    events_logger = "none"
    END
    cat >/run/as <<'END'
    settings=(CONTAINERS_CONF=/run/containers.conf STORAGE_DRIVER=vfs PATH=/usr/sbin:/usr/bin:/sbin:/bin)
    if [[ $1 == root ]]; then
      exec env -i HOME=/root "${settings[@]}" /bin/bash "$2"
    fi
    exec runuser --user "$1" -- env -i HOME="/run/$1" XDG_RUNTIME_DIR="/run/$1/runtime" \
      "${settings[@]}" /bin/bash "$2"
    END

    # An image of a few programs with their libraries. `app` does what an SDK does.
    image=/var/lib/machines/app
    mkdir -p "$image"/{bin,etc,proc,sys,dev,run,tmp,usr/bin,usr/local/bin,var}
    echo 'root:x:0:0::/:/bin/sh' >"$image/etc/passwd"
    echo 'root:x:0:' >"$image/etc/group"
    echo 'ID=image' >"$image/etc/os-release"
    cp /bin/sh "$image/bin/sh"
    cp /usr/bin/{curl,mv,sleep} "$image/usr/bin"
    for file in /bin/sh /usr/bin/{curl,mv,sleep,credctl}; do
      { ldd "$file" 2>/dev/null || true; } | grep -o '/[^ ]*' || true
    done | sort -u | while read -r library; do
      mkdir -p "$image$(dirname "$library")"
      cp --dereference "$library" "$image$library"
    done
    cat >"$image/usr/bin/app" <<'END'
    #!/bin/sh
    exec curl --silent --fail --header "Authorization: $AWS_CONTAINER_AUTHORIZATION_TOKEN" \
      "$AWS_CONTAINER_CREDENTIALS_FULL_URI"
    END
    chmod 755 "$image" "$image/usr/bin/app"
    tar --directory="$image" --create --file=/run/app.tar .
    chmod 644 /run/app.tar

    "$PROGRAMS/credd-sandbox" --port 4599 --any-user --quiet --ready-file /run/sandbox-ready \
      --signing-key "$SIGNING_KEY" &
    until [[ -s /run/sandbox-ready ]]; do sleep 0.1; done
    # Runs credd again each time it ends.
    while :; do
      "$PROGRAMS/credd" --config "$CONFIGURATION" --socket /run/credd/credd.sock \
        --endpoint 127.0.0.1:337 --log-level info || true
    done &
    until [[ -S /run/credd/credd.sock ]]; do sleep 0.1; done
    for user in root alice; do
      echo 'podman import --quiet /run/app.tar localhost/app' >/run/import
      bash /run/as "$user" /run/import >&2
    done
    touch "$READY"
    wait
    """#
}
