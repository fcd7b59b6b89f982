"""What pycognito, a public client, does with a user pool: every step of an account's life.

  pycognito_client.py URL POOL CLIENT SECRET-OR-EMPTY

Prints the steps that it took as a JSON list.
"""
import hashlib, hmac, json, struct, sys, time, urllib.request
import base64

from pycognito import Cognito
from pycognito.exceptions import ForceChangePasswordException, SoftwareTokenMFAChallengeException

url, pool, client, secret = sys.argv[1:5]
steps = []


def control(method, path, **body):
    request = urllib.request.Request(
        url + "/control/user-pool" + path, json.dumps(body).encode() if body else None, method=method)
    return json.loads(urllib.request.urlopen(request).read())


def person(name, **more):
    user = Cognito(pool, client, username=name, client_secret=secret or None,
                   user_pool_region=pool.split("_")[0],
                   boto3_client_kwargs={"endpoint_url": url}, **more)
    # The tokens name AWS's own host, not the endpoint.
    keys = urllib.request.urlopen(f"{url}/{pool}/.well-known/jwks.json").read()
    user.pool_jwk, user.pool_domain_url = json.loads(keys), None
    return user


def code(name):
    return control("GET", "/messages?Username=" + name)["Messages"][0]["Code"]


def totp(key, step=0):
    counter = struct.pack(">Q", int(time.time()) // 30 + step)
    digest = hmac.new(base64.b32decode(key + "=" * (-len(key) % 8)), counter, hashlib.sha1).digest()
    at = digest[-1] & 15
    return "%06d" % ((struct.unpack(">I", digest[at:at + 4])[0] & 0x7FFFFFFF) % 1000000)


def step(name):
    steps.append(name)


bob = person("bob")
bob.set_base_attributes(email="bob@example.com")
bob.register("bob", "Bobs-own-1")
step("register")
bob.confirm_sign_up(code("bob"))
step("confirm")
bob.authenticate(password="Bobs-own-1")
assert bob.id_claims["email"] == "bob@example.com"
step("authenticate")
for _ in range(12):  # as many shapes of the server's number, twice
    person("bob").authenticate(password="Bobs-own-1")
step("shapes")
try:
    person("bob").authenticate(password="Bobs-own-2")
    raise SystemExit("a wrong password was taken")
except bob.client.exceptions.NotAuthorizedException as error:
    assert "Incorrect username or password." in str(error)
step("refused")
before = bob.access_token
bob.renew_access_token()
assert bob.access_token != before
step("renew")
bob.change_password("Bobs-own-1", "Bobs-own-2")
step("change password")
bob.update_profile({"name": "Bob"})
assert bob.get_user().name == "Bob"
step("attributes")
bob.initiate_forgot_password()
bob.confirm_forgot_password(code("bob"), "Bobs-own-3")
step("forgot password")

bob.authenticate(password="Bobs-own-3")
key = bob.associate_software_token()
assert bob.verify_software_token(totp(key), "phone")
bob.set_user_mfa_preference(sms_mfa=False, software_token_mfa=True, preferred="SOFTWARE_TOKEN")
step("second factor")
try:
    bob.authenticate(password="Bobs-own-3")
    raise SystemExit("the second factor was not asked for")
except SoftwareTokenMFAChallengeException:
    bob.respond_to_software_token_mfa_challenge(totp(key, 1))
step("second factor asked for")

control("POST", "/user", UserPool=pool, Username="dora", Password="Invited-1",
        Attributes={"email": "dora@example.com"})
dora = person("dora")
try:
    dora.authenticate(password="Invited-1")
    raise SystemExit("the invitation's password was kept")
except ForceChangePasswordException:
    dora.new_password_challenge("Invited-1", "Doras-own-1")
step("new password")
dora.authenticate(password="Doras-own-1")
dora.delete_user()
step("delete")
bob.client.global_sign_out(AccessToken=bob.access_token)
try:
    bob.client.get_user(AccessToken=bob.access_token)
    raise SystemExit("a session outlived the global sign-out")
except bob.client.exceptions.NotAuthorizedException:
    step("global sign-out")
print(json.dumps(steps))
