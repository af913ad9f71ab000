# A step of ours beside one of PyTorch's, in microseconds, as Markdown. Files:
# step_times.csv, then, if there is one, torch.csv. The first line of each
# names its columns; no column in use comes after a quoted one.

FNR == 1 {
    file++
    split("", at)
    for (i = 1; i <= NF; i++)
        at[$i] = i
    next
}

{
    key = $(at["batch_size"]) " " $(at["optimizer"])
    if (!(key in known)) {
        known[key] = 1
        keys[++n] = key
    }
}

file == 1 {
    way = $(at["execution"]) " " $(at["numerics"])
    us[key, way] = 1000 * $(at["median_ms"])
    flag[key, way] = $(at["flag"]) == "" ? "" : "*"
}

file == 2 && $(at["median_us"]) != "" {
    us[key, $(at["way"])] = $(at["median_us"])
}

function show(key, way) {
    if (!((key, way) in us))
        return "–"
    return sprintf("%.1f%s", us[key, way], flag[key, way])
}

function ratio(key, way) {
    if (!((key, way) in us) || !((key, "recorded fast") in us))
        return "–"
    return sprintf("%.1f", us[key, way] / us[key, "recorded fast"])
}

function aim(text, value, holds) {
    printf "- %s: %s, %s\n", text, value, holds ? "reached" : "not reached"
}

# In order of the batch, then of the optimizer.
function sort_keys(  i, j, t) {
    for (i = 2; i <= n; i++)
        for (j = i; j > 1 && after(keys[j - 1], keys[j]); j--) {
            t = keys[j]
            keys[j] = keys[j - 1]
            keys[j - 1] = t
        }
}

function after(a, b,  x, y) {
    split(a, x, " ")
    split(b, y, " ")
    return x[1] + 0 != y[1] + 0 ? x[1] + 0 > y[1] + 0 : x[2] < y[2]
}

function row(key,  p, line, i, cells) {
    split(key, p, " ")
    line = "| " p[1] " | " p[2]
    cells = split(columns, cell, ",")
    for (i = 1; i <= cells; i++)
        line = line " | " show(key, cell[i])
    print line " | " ratio(key, "eager") " | " ratio(key, "graph") " | " \
        ratio(key, "compile") " |"
}

function aims(  i, p, t) {
    for (i = 1; i <= n; i++) {
        split(keys[i], p, " ")
        t = us[keys[i], "recorded fast"]
        if (p[1] <= 128)
            aim("batch " p[1] ", " p[2] ": at most 25 µs", \
                show(keys[i], "recorded fast"), t && t <= 25)
        if (p[1] == 2048)
            aim("batch " p[1] ", " p[2] ": at most 70 µs", \
                show(keys[i], "recorded fast"), t && t <= 70)
        if (p[1] <= 256 && (keys[i], "eager") in us)
            aim("batch " p[1] ", " p[2] ": 10 times PyTorch eager", \
                ratio(keys[i], "eager"), ratio(keys[i], "eager") >= 10)
    }
}

END {
    columns = "recorded fast,eager fast,recorded tf32,recorded strict," \
        "eager,graph,compile"
    print simulated ? "## SIMULATED: these times mean nothing" : "## Step times"
    print "\nMedian of a training step in µs; `*`: flagged, see step_times.csv."
    print "The last three columns: PyTorch's time over ours (recorded, fast).\n"
    print "| batch | optimizer | recorded | eager | recorded tf32 |" \
        " recorded strict | PyTorch eager | CUDA graph | torch.compile |" \
        " eager / ours | graph / ours | compile / ours |"
    print "|--:|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    sort_keys()
    for (i = 1; i <= n; i++)
        row(keys[i])
    if (!simulated) {
        print "\nAims, for a card of the H200's class:\n"
        aims()
    }
}
