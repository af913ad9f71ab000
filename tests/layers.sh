#!/bin/sh
# tests/layers.sh: what may call what, and the house rules that a compiler does
# not check. TAP; a rule that is broken lists the places. OBJECTS names a build
# folder without sanitizers (its libraries are searched for mutable globals).
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/tap.sh

code=$(mktemp -d) || exit 1
trap 'rm -rf "$code"' EXIT

# A copy of every source without comments and texts, line by line the same.
strip_comments() {
    perl -e '
        my $to = shift;
        for my $file (@ARGV) {
            open(my $in, "<", $file) or die "$file: $!\n";
            my $s = do { local $/; <$in> };
            my $comment = qr{/\*.*?\*/|//[^\n]*}s;
            my $text = qr{"(?:\\.|[^"\\\n])*"|\x27(?:\\.|[^\x27\\\n])+\x27};
            $s =~ s{($comment)|$text}
                   {defined $1 ? $1 =~ s/[^\n]//gr : "\"\""}ge;
            (my $dir = "$to/$file") =~ s{/[^/]*$}{};
            system("mkdir", "-p", $dir) unless -d $dir;
            open(my $out, ">", "$to/$file") or die "$to/$file: $!\n";
            print $out $s;
        }' "$code" $(sources)
}

# includes DIR REGEX: own headers included from DIR that REGEX does not allow.
includes() {
    grep -HnE '^ *# *include "' "$1"/*.[ch] "$1"/*.cu* 2>/dev/null |
        grep -vE "include \"($2)"
}

# system_header REGEX FILES: who includes it beside the files named.
system_header() {
    sources cmd pipeline nn cuda | xargs grep -HnE "include <($1)" |
        grep -vE "^($2):"
}

own_header_first() {
    for c in $(sources cmd pipeline nn cuda | grep '\.c$'); do
        h=${c%.c}.h
        [ -f "$h" ] || continue
        first=$(grep -m1 '^#include' "$c")
        [ "$first" = "#include \"$h\"" ] || echo "$c: begins with $first"
    done
}

headers_stand_alone() {
    for h in $(sources cmd pipeline nn | grep '\.h$'); do
        ${CC:-cc} -std=c17 -D_GNU_SOURCE -I. -fsyntax-only -Wno-psabi \
            -x c "$h" || echo "$h"
    done
}

# calls REGEX EXCEPT DIR...: a function of that name called outside EXCEPT. A
# member of a struct (x->free) and a longer name (mem_free) are others.
calls() {
    regex=$1 except=$2
    shift 2
    (cd "$code" && sources "$@" |
        xargs grep -HnP "(?<![\\w.>*])($regex)\\s*\\(" | grep -vE "^($except):")
}

words() {
    regex=$1 except=$2
    shift 2
    (cd "$code" && sources "$@" | xargs grep -HnwE "$regex" |
        grep -vE "^($except):")
}

long_files() {
    sources | xargs wc -l | awk '$2 != "total" && $1 > 500 {
        print $2 ": " $1 " lines, 500 are allowed" }'
}

wide_lines() {
    sources | xargs perl -CSD -ne 'chomp;
        print "$ARGV:$.: ", length, " columns\n" if length > 80;
        close ARGV if eof'
}

# But tests/run.sh and tests/gpu/run.sh.
same_names() {
    { sources; find tests -name '*.sh' -o -name '*.bats'; } |
        grep -vx tests/gpu/run.sh | sed 's|.*/||' | sort | uniq -d
}

# "LINES PLACE FUNCTION" of each function's body, in the folders given.
bodies() {
    sources "$@" | grep -v '\.h$' | xargs ctags -x --c-kinds=f \
        --_xformat='%F %n %e %N' | perl -ne '
        my ($file, $from, $to, $name) = split;
        if (!$text{$file}) {
            open(my $in, "<", $file) or next;
            $text{$file} = [<$in>];
        }
        my $at = $from;
        $at++ while $at < $to && $text{$file}[$at - 1] !~ /\{\s*$/;
        print $to - $at - 1, " $file:$from $name\n";'
}

long_bodies() {
    bodies | awk '$1 > 80 { print $2 ": " $3 " has " $1 " lines, 80 are " \
        "allowed" }'
}

# The house is made of small functions: not only none too long.
body_sizes() {
    bodies cmd pipeline nn cuda | sort -n | awk '{ n[NR] = $1 } END {
        median = n[int((NR + 1) / 2)]; p90 = n[int(NR * 0.9 + 0.5)]
        if (median > 15 || p90 > 50)
            print "median " median " (15), nine in ten below " p90 " (50)" }'
}

# Symbols in .data and .bss. Tables of pointers (.data.rel.ro) are constant.
mutable_globals() {
    for lib in "$1"/libnn.a "$1"/libpipeline.a; do
        objdump -t "$lib" | awk '
            /file format/ { object = $1 }
            / O \.t?(data|bss)/ && !/data\.rel\.ro/ {
                print object " " $NF }'
    done | grep -vE "^($2):"
}

strip_comments

rule "cmd/ includes cmd/, pipeline/pipeline.h and nn/base/ only" \
    includes cmd 'cmd/|pipeline/pipeline\.h"|nn/base/'
rule "pipeline/ includes pipeline/, nn/*.h and nn/base/ only" \
    includes pipeline 'pipeline/|nn/[a-z0-9_]+\.h"|nn/base/'
rule "nn/ includes nn/ only" includes nn 'nn/'
rule "nn/base/ includes nn/base/ only" includes nn/base 'nn/base/'
rule "nn/cpu/ includes nn/ only" includes nn/cpu 'nn/'
rule "cuda/ includes cuda/, nn/*.h, nn/base/ and cpu_vmath.h only" \
    includes cuda 'cuda/|nn/[a-z0-9_]+\.h"|nn/base/|nn/cpu/cpu_vmath\.h"'
rule "only yaml.c knows libyaml" system_header 'yaml\.h' 'pipeline/yaml\.c'
rule "only the downloads know libcurl" \
    system_header 'curl/' 'pipeline/(fetch|download)[a-z_]*\.[ch]'
rule "only view_server.c knows libmicrohttpd" \
    system_header 'microhttpd\.h' 'pipeline/view_server\.c'
rule "only hash.c knows libcrypto" system_header 'openssl/' 'pipeline/hash\.c'
rule "only cuda/ knows CUDA" \
    system_header 'cu(da|blas|pti)' 'cuda/[a-z0-9_.]*'
rule "a source includes its own header first" own_header_first
rule "a header compiles alone" headers_stand_alone
rule "only mem.c allocates" \
    calls '[mc]alloc|realloc|strn?dup|aligned_alloc|posix_memalign|v?asprintf' \
    'nn/base/mem\.c' cmd pipeline nn
rule "only mem.c frees, and json_file.c what jansson allocated" \
    calls 'free' '(nn/base/mem|pipeline/json_file)\.c' cmd pipeline nn
rule "only cmd/ knows stdout" words 'stdout' '' pipeline nn
rule "only cmd/ prints" calls 'v?printf|puts|putchar|perror' '' pipeline nn
rule "only cmd/ exits, and the children of run_child, run_apart, simulated.c" \
    calls 'exit|_exit|_Exit|quick_exit|abort' \
    'pipeline/(run_(child|apart)|simulated)\.c' pipeline nn
rule "no function that overflows, guesses or hides state" \
    calls 'strcpy|strcat|v?sprintf|gets|strtok|alloca|ato[ilf]|s?rand|chdir' \
    '' cmd pipeline nn
rule "no shell: a config is data" calls 'system|popen|exec[lv][a-z]*' '' \
    cmd pipeline nn
rule "no unfinished business" \
    grep -rnwE 'TODO|FIXME|XXX|HACK' cmd pipeline nn cuda tests configs \
    --include='*.[ch]' --include='*.cu' --include='*.yaml' --include='*.bats'
rule "a file has at most 500 lines" long_files
rule "a line has at most 80 columns" wide_lines
rule "a file name is used once" same_names
rule "a function has at most 80 lines" long_bodies
rule "functions are small: median 15 lines, nine in ten within 50" body_sizes
rule "no mutable globals" mutable_globals "${OBJECTS:-build/release}" \
    'mem\.o'
rules_end
