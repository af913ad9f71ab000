"""Headers out of a wheel without fetching the wheel: wheel_headers.py FOLDER
NAME==VERSION takes the files of its include/ from the index that pip is set up
with, by ranges of bytes. Status 1 and a line where that cannot be done."""

import io
import sys
import zipfile

BLOCK = 1 << 18


class Remote(io.RawIOBase):
    """A file that is read where it lies, a block at a time."""

    def __init__(self, session, url):
        super().__init__()
        self.session, self.url, self.at, self.blocks = session, url, 0, {}
        span = self.fetch("bytes=0-0").headers["Content-Range"]
        self.size = int(span.split("/")[1])

    def fetch(self, span):
        headers = {"Range": span, "Accept-Encoding": "identity"}
        answer = self.session.get(self.url, headers=headers, stream=True)
        if answer.status_code != 206:
            answer.close()
            raise OSError(f"status {answer.status_code} for a range")
        return answer

    def block(self, i):
        if i not in self.blocks:
            last = min((i + 1) * BLOCK, self.size) - 1
            self.blocks[i] = self.fetch(f"bytes={i * BLOCK}-{last}").content
        return self.blocks[i]

    def seekable(self):
        return True

    def readable(self):
        return True

    def seek(self, offset, whence=io.SEEK_SET):
        start = (0, self.at, self.size)[whence]
        self.at = start + offset
        return self.at

    def tell(self):
        return self.at

    def readinto(self, buffer):
        data = self.block(self.at // BLOCK) if self.at < self.size else b""
        data = data[self.at % BLOCK:][:len(buffer)]
        buffer[:len(data)] = data
        self.at += len(data)
        return len(data)


def find(requirement):
    """pip's session, and the address of the wheel for x86-64 Linux."""
    from pip._internal.commands.download import DownloadCommand

    name, version = requirement.split("==")
    command = DownloadCommand("download", "")
    options, _ = command.parse_args([requirement])
    with command.main_context():
        session = command._build_session(options)
        finder = command._build_package_finder(options=options, session=session)
        for candidate in finder.find_all_candidates(name):
            link = candidate.link
            if str(candidate.version) == version and "x86_64" in link.filename:
                return session, link.url_without_fragment
    raise OSError(f"no wheel of {requirement}")


def main(folder, requirement):
    remote = io.BufferedReader(Remote(*find(requirement)))
    with zipfile.ZipFile(remote) as wheel:
        for name in wheel.namelist():
            if "/include/" in name:
                wheel.extract(name, folder)


try:
    main(*sys.argv[1:])
except Exception as e:  # pip's inside is nobody's interface
    sys.exit(f"{type(e).__name__}: {e}")
