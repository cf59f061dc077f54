"""moto, a server with S3's interface, over TLS. botocore, Amazon's own code, checks signatures."""

import datetime
import ipaddress
import json
import os
import threading

# Keys on each page of a list: before moto is imported.
os.environ["MOTO_S3_DEFAULT_MAX_KEYS"] = "2"
# What a developer has set must not reach the server.
os.environ.pop("AWS_SESSION_TOKEN", None)

import boto3  # noqa: E402
import werkzeug.serving  # noqa: E402
from cryptography import x509  # noqa: E402
from cryptography.hazmat.primitives import hashes, serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import ec  # noqa: E402
from moto import settings  # noqa: E402
from moto.server import DomainDispatcherApplication, create_backend_app  # noqa: E402

REGION = "eu-central-1"
EVERYTHING = json.dumps({"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]})
ANYBODY = json.dumps({"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": "*"}}]})


def write_certificate(folder):
    """The files of a certificate for 127.0.0.1 that signs itself, and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name)
        .public_key(key.public_key()).serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(
            [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256()))
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption()))
    return tuple(map(str, files))


class S3Server:
    """Has a bucket `bucket`, a user, and a role with temporary credentials.

    `client`: of boto3, with the user's rights.
    """

    def __init__(self, folder):
        self.certificate, key = write_certificate(folder)
        self.server = werkzeug.serving.make_server(
            "127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=True,
            request_handler=QuietHandler, ssl_context=(self.certificate, key))
        self.url = f"https://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        anybody = {"aws_access_key_id": "none", "aws_secret_access_key": "none"}
        iam = self.service("iam", **anybody)
        iam.create_user(UserName="user")
        iam.put_user_policy(UserName="user", PolicyName="all", PolicyDocument=EVERYTHING)
        made = iam.create_access_key(UserName="user")["AccessKey"]
        self.user = {"AWS_ACCESS_KEY_ID": made["AccessKeyId"],
                     "AWS_SECRET_ACCESS_KEY": made["SecretAccessKey"]}
        role = iam.create_role(RoleName="role", AssumeRolePolicyDocument=ANYBODY)["Role"]
        iam.put_role_policy(RoleName="role", PolicyName="all", PolicyDocument=EVERYTHING)
        made = self.service("sts", **anybody).assume_role(
            RoleArn=role["Arn"], RoleSessionName="session")["Credentials"]
        self.role = {"AWS_ACCESS_KEY_ID": made["AccessKeyId"],
                     "AWS_SECRET_ACCESS_KEY": made["SecretAccessKey"],
                     "AWS_SESSION_TOKEN": made["SessionToken"]}
        # From here on each request must be signed by the user or the role.
        settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
        self.client = self.service("s3", **{name.lower(): value
                                            for name, value in self.user.items()})
        self.client.create_bucket(
            Bucket="bucket", CreateBucketConfiguration={"LocationConstraint": REGION})

    def service(self, name, **credentials):
        return boto3.client(name, endpoint_url=self.url, region_name=REGION,
                            verify=self.certificate, **credentials)

    def environment(self, credentials):
        return {"AWS_REGION": REGION, "AWS_ENDPOINT_URL": self.url,
                "CURL_CA_BUNDLE": self.certificate, **credentials}

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class QuietHandler(werkzeug.serving.WSGIRequestHandler):
    def log(self, *_):
        pass
