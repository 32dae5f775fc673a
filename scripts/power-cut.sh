#!/usr/bin/env bash
# A disk that loses its power. It is an ext4 file system on a block device whose write-back cache lives in one process:
# what was flushed (fsync, fdatasync) is in the image, what was not is in that process alone. `cut` kills it with -9, so
# that every block which was not flushed is gone. A kill of the service alone proves nothing about flushing: what it has
# written is in the kernel, which goes on.
#
#   power-cut.sh on  STATE [SIZE_MB]   makes the disk, or connects it again; prints the folder to put data in
#   power-cut.sh cut STATE PID...      the power fails, and with it the programs named; `on` again shows what is left
#   power-cut.sh off STATE             a clean unmount that keeps everything
#
# Needs root and Debian's packages nbdkit, libnbd-bin, fuse3 and e2fsprogs. All unflushed blocks are lost: none is torn,
# and none is written before another.
set -euo pipefail
verb=${1:?on, cut or off}
state=${2:?a folder for the state}
mkdir -p "$state"
state=$(cd "$state" && pwd)
image=$state/disk.img
device=$state/device
socket=$state/nbd.sock
mount=$state/mnt

wait_for() {
  for _ in $(seq 250); do
    "$@" && return
    sleep .02
  done
  echo "power-cut: gave up waiting: $*" >&2
  exit 1
}

device_ready() { [ "$(stat -c %s "$device" 2>/dev/null || echo 0)" -gt 0 ]; }
unmounted() { ! grep -q " $mount " /proc/self/mounts && ! losetup -a | grep -qF "($device)"; }
gone() { [ ! -e "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null; }

end_process_of() {
  [ -f "$1" ] || return 0
  kill -9 "$(cat "$1")" 2>/dev/null || true
  wait_for gone "$(cat "$1")"
  rm -f "$1"
}

# The device's process is gone or idle: lets go of the mount, the loop device and the FUSE file.
take_apart() {
  umount -l "$mount" 2>/dev/null || true
  losetup -j "$device" 2>/dev/null | cut -d: -f1 | while read -r loop; do losetup -d "$loop" 2>/dev/null || true; done
  end_process_of "$state/nbdkit.pid"
  end_process_of "$state/nbdfuse.pid"
  fusermount3 -uz "$device" 2>/dev/null || true
  wait_for unmounted
}

case $verb in
on)
  take_apart
  [ -f "$image" ] || {
    truncate -s "${3:-512}M" "$image"
    mkfs.ext4 -q -F "$image"
  }
  mkdir -p "$mount"
  : >"$device"
  rm -f "$socket"
  # nbdkit begins to shut down when the process that started it ends; so this one stays.
  setsid bash -c 'cd "$1"
    nbdkit -f -U nbd.sock --filter=cache file disk.img cache=writeback cache-min-block-size=4096 & echo $! >nbdkit.pid
    until [ -S nbd.sock ]; do sleep .01; done
    nbdfuse device --unix nbd.sock & echo $! >nbdfuse.pid
    wait' power-cut "$state" >"$state/log" 2>&1 </dev/null &
  wait_for device_ready
  mount "$(losetup --show -f "$device")" "$mount"
  mkdir -p "$mount/data"
  echo "$mount/data"
  ;;
cut)
  end_process_of "$state/nbdkit.pid"
  for pid in "${@:3}"; do
    kill -9 "$pid" 2>/dev/null || true
    wait_for gone "$pid"
  done
  take_apart
  ;;
off)
  umount "$mount"
  take_apart
  ;;
*)
  echo "power-cut: on, cut or off" >&2
  exit 2
  ;;
esac
