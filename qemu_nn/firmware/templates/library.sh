#!/bin/sh
# Compares the ELF attributes of libraries with those of an object of this build, before the linker
# fails: sh library.sh READELF OBJECT FLAGS LIBRARY...
#
# A library must have Arm objects, of the same float ABI, for this core or for one whose instructions
# this core has.
readelf=$1 object=$2 flags=$3
shift 3

attributes() { "$readelf" -A "$1" 2>/dev/null; }

# The newest architecture of a file's objects, as a number and in words.
core() {
    attributes "$1" | sed -n 's/.*Tag_CPU_arch: *//p' | sort -u | while read -r architecture; do
        case $architecture in
        v6S-M | v6-M) echo "1 Cortex-M0 or M1" ;;
        v7 | v7-M) echo "2 Cortex-M3" ;;
        v7E-M) echo "3 Cortex-M4 or M7" ;;
        v8-M.baseline) echo "4 Cortex-M23" ;;
        v8-M.mainline) echo "5 Cortex-M33 or M35P" ;;
        v8.1-M.mainline) echo "6 Cortex-M52, M55 or M85" ;;
        *) echo "7 $architecture" ;;
        esac
    done | sort | tail -n 1
}

floats() {
    if attributes "$1" | grep -q 'Tag_ABI_VFP_args: VFP registers'; then echo hard; else echo soft; fi
}

for library in "$@"; do
    own=$(core "$object") theirs=$(core "$library")
    if [ ! -r "$library" ]; then
        wrong="LIBRARY=$library is no file"
    elif [ -z "$theirs" ]; then
        wrong="$library has no Arm objects: it is built for another machine, or is no library"
    elif [ "${theirs%% *}" -gt "${own%% *}" ]; then
        wrong="$library is built for a ${theirs#* }, but this build is for a ${own#* }"
    elif [ "$(floats "$library")" != "$(floats "$object")" ]; then
        wrong="$library is built for $(floats "$library") floats, but this build for $(floats "$object")"
    else
        continue
    fi
    echo "$wrong: build the library with $flags, or change these flags" >&2
    exit 1
done
