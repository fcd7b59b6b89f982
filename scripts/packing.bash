# What build-deb, build-rpm, sbom and build-repo share. Sourced, in the folder of the repository.
# shellcheck shell=bash

# What is packed has the modes of the Makefile, whatever mask the shell has.
umask 022
export LC_ALL=C.UTF-8 TZ=UTC

# shellcheck disable=SC2034  # the packers use it
maintainer='credd maintainers <maintainers@credd.invalid>'

# The same sources make the same packages. Another user may own the clone.
if [[ -z ${SOURCE_DATE_EPOCH:-} ]]; then
  SOURCE_DATE_EPOCH=$(git -c safe.directory="$PWD" log -1 --format=%ct 2>/dev/null) || {
    echo "${0##*/}: no commit is here to take the date from: set SOURCE_DATE_EPOCH" >&2
    exit 1
  }
fi
export SOURCE_DATE_EPOCH

# installed_size FOLDER: in kilobytes, as Debian's policy counts: `du` gives a folder another size on
# another file system.
installed_size() {
  find "$1" -path "$1/DEBIAN" -prune -o -type f -printf '%s\n' -o -printf '1\n' |
    awk '{ total += int(($1 + 1023) / 1024) } END { print total }'
}

# processor_of ARCHITECTURE: as RPM and the kernel call it; Debian's names are known too.
processor_of() {
  case $1 in
  amd64 | x86_64) echo x86_64 ;;
  arm64 | aarch64) echo aarch64 ;;
  *)
    echo "${0##*/}: there is no architecture '$1': say ARCH=amd64 or ARCH=arm64" >&2
    return 64
    ;;
  esac
}

# programs_for PROCESSOR: the folder with the programs.
programs_for() {
  if [[ $1 == "$(uname --machine)" ]]; then echo build/bin; else echo "build/bin-$1"; fi
}

# expect_processor PROCESSOR PROGRAM…: fails where a program is built for another one.
expect_processor() {
  local processor=$1 program machine
  shift
  for program in "$@"; do
    [[ -f $program ]] || {
      echo "${0##*/}: $program is missing: run 'make release ARCH=$processor'" >&2
      return 1
    }
    machine=$(readelf --file-header "$program" | sed -n 's/^ *Machine: *//p')
    case $machine in
    *X86-64) machine=x86_64 ;;
    AArch64) machine=aarch64 ;;
    esac
    [[ $machine == "$processor" ]] || {
      echo "${0##*/}: $program is built for $machine, not for $processor" >&2
      return 1
    }
  done
}
