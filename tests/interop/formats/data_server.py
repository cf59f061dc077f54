"""A server of data files, over HTTP and with S3's interface, that fails when it is told to.

S3's requests must be signed (Signature Version 4) with KEY and SECRET, and TOKEN if it is set.
"""

import hashlib
import hmac
import http.server
import pathlib
import threading
import urllib.parse
import xml.sax.saxutils

KEY, SECRET, REGION = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "eu-test-1"


def signature(method, path, query, headers, signed, date, payload):
    """The signature of a request, as Amazon documents it."""
    day = date[:8]
    scope = f"{day}/{REGION}/s3/aws4_request"
    pairs = sorted(query.split("&")) if query else []
    canonical = "\n".join([
        method, path, "&".join(pairs),
        *[f"{name}:{' '.join(headers[name].split())}" for name in signed], "", ";".join(signed),
        payload])
    text = "\n".join(["AWS4-HMAC-SHA256", date, scope,
                      hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + SECRET).encode()
    for part in (day, REGION, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def fail(self, code, name=""):
        body = f"<Error><Code>{name}</Code></Error>".encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def is_signed(self, path, query):
        text = self.headers.get("Authorization", "")
        # Amazon's servers require the hash of the body, too.
        if not text.startswith("AWS4-HMAC-SHA256 ") or not self.headers["x-amz-content-sha256"]:
            return False
        fields = dict(one.strip().split("=", 1) for one in text.split(" ", 1)[1].split(","))
        names = fields["SignedHeaders"].split(";")
        date = self.headers["X-Amz-Date"]
        wanted = signature("GET", path, query, self.headers, names, date,
                           self.headers["x-amz-content-sha256"])
        return fields["Credential"].startswith(KEY + "/") and fields["Signature"] == wanted

    def do_GET(self):
        owner = self.server.owner
        path, _, query = self.path.partition("?")
        owner.requests.append(self.path)
        if path.startswith("/s3/"):
            path = path[len("/s3"):]
            if not self.is_signed("/s3" + path, query):
                return self.fail(403, "SignatureDoesNotMatch")
            if "list-type" in query:
                return self.list(dict(urllib.parse.parse_qsl(query)))
            path = path[len("/bucket"):]
        fault = owner.next_fault(path)
        if fault == "503":
            return self.fail(503, "SlowDown")
        if fault == "redirect":
            self.send_response(302)
            self.send_header("Location", path)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        file = owner.folder / urllib.parse.unquote(path).lstrip("/")
        if not file.is_file():
            return self.fail(404, "NoSuchKey")
        return self.send(file.read_bytes(), fault)

    def list(self, query):
        """Two keys on each page."""
        folder = self.server.owner.folder
        keys = sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())
        keys = [key for key in keys if key.startswith(query.get("prefix", ""))]
        first = int(query.get("continuation-token", "0"))
        more = len(keys) > first + 2
        body = "<ListBucketResult><IsTruncated>" + str(more).lower() + "</IsTruncated>"
        for key in keys[first:first + 2]:
            body += "<Contents><Key>" + xml.sax.saxutils.escape(urllib.parse.quote(key)) + \
                "</Key></Contents>"
        if more:
            body += f"<NextContinuationToken>{first + 2}</NextContinuationToken>"
        body = (body + "</ListBucketResult>").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send(self, data, fault):
        etag = '"' + hashlib.md5(data).hexdigest() + '"'
        if fault == "new_etag":
            etag = f'"{len(self.server.owner.requests)}"'
        body = data
        ranges = self.headers.get("Range")
        if ranges and fault != "no_range":
            first, last = ranges[len("bytes="):].split("-")
            body = data[int(first):int(last) + 1]
            self.send_response(206)
            shift = 1 if fault == "wrong_range" else 0
            self.send_header("Content-Range", f"bytes {int(first) + shift}-"
                             f"{int(first) + len(body) - 1}/{len(data)}")
        else:
            self.send_response(200)
        self.send_header("ETag", etag)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if fault == "cut":
            self.wfile.write(body[:len(body) // 2])
            self.close_connection = True
        elif fault == "hang":
            self.server.owner.ended.wait(60)
            self.close_connection = True
        else:
            self.wfile.write(body)


class DataServer:
    """Serves the files of a folder. `faults`: for a path, what goes wrong with its next requests."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.faults, self.requests = {}, []
        self.ended = threading.Event()
        self.lock = threading.Lock()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.owner = self
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def environment(self, secret=SECRET):
        return {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": secret, "AWS_REGION": REGION,
                "AWS_ENDPOINT_URL_S3": self.url + "/s3"}

    def next_fault(self, path):
        with self.lock:
            faults = self.faults.get(path, [])
            return faults.pop(0) if faults else ""

    def stop(self):
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()
