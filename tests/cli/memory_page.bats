load helper

@test "pages of a memory timeline work in a browser, without a network" {
    command -v chromedriver >/dev/null && command -v chromium >/dev/null || {
        echo "# SKIPPED: the page in a browser (no chromium, chromedriver)" >&3
        skip "no chromium"
    }
    MEMORY_PAGES=$T "${PIPELINE%/*}/test_memory_timeline"
    run timeout 100 python3 tests/memory_page.py "$T"
    is_status 0
    says "runs of 100,000 events open in"
}
