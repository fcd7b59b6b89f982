#!/usr/bin/env python3
"""Signs in to a user pool with the arithmetic of srp.py and nothing but the standard library.

  reference_client.py URL POOL CLIENT SECRET-OR-EMPTY USER PASSWORD [TIMES]

Signs in so many times, confirms the device that it is given, signs in on it again, and prints what
it has seen as JSON.
"""
import base64, importlib.util, json, os, secrets, sys, time, urllib.error, urllib.request

spec = importlib.util.spec_from_file_location(
    "srp", os.path.join(os.path.dirname(os.path.abspath(__file__)), "srp.py"))
srp = importlib.util.module_from_spec(spec)
spec.loader.exec_module(srp)

url, pool, client, secret, user, password = sys.argv[1:7]
pool_name = pool.split("_", 1)[1]


def call(operation, **members):
    request = urllib.request.Request(url + "/", json.dumps(members).encode(), {
        "Content-Type": "application/x-amz-json-1.1",
        "X-Amz-Target": "AWSCognitoIdentityProviderService." + operation})
    try:
        with urllib.request.urlopen(request) as reply:
            return json.loads(reply.read() or b"{}")
    except urllib.error.HTTPError as error:
        sys.exit(operation + ": " + error.read().decode())


def hashed(name, values):
    if secret:
        values["SECRET_HASH"] = srp.secret_hash(name, client, secret)
    return values


def respond(challenge, reply, name, **values):
    members = {"Session": reply["Session"]} if "Session" in reply else {}
    return call("RespondToAuthChallenge", ClientId=client, ChallengeName=challenge,
                ChallengeResponses=hashed(name, dict(values, USERNAME=name)), **members)


def proof(a, parameters, first, second, word):
    A, B = pow(srp.G, a, srp.N), int(parameters["SRP_B"], 16)
    x = srp.private_x(int(parameters["SALT"], 16), first + second, word)
    u, S = srp.client_secret(a, A, B, x)
    stamp, block = srp.timestamp(time.time()), parameters["SECRET_BLOCK"]
    return {"PASSWORD_CLAIM_SECRET_BLOCK": block, "TIMESTAMP": stamp,
            "PASSWORD_CLAIM_SIGNATURE": srp.signature(srp.hkdf(S, u), first, second, block, stamp)}


def sign_in(device=None):
    a = secrets.randbits(256)
    more = {"DEVICE_KEY": device["key"]} if device else {}
    reply = call("InitiateAuth", ClientId=client, AuthFlow="USER_SRP_AUTH", AuthParameters=hashed(
        user, dict(more, USERNAME=user, SRP_A="%x" % pow(srp.G, a, srp.N))))
    parameters = reply["ChallengeParameters"]
    name = parameters.get("USERNAME", parameters["USER_ID_FOR_SRP"])
    answer = proof(a, parameters, pool_name, parameters["USER_ID_FOR_SRP"], password)
    reply = respond("PASSWORD_VERIFIER", reply, name, **answer, **more)
    if reply.get("ChallengeName") == "DEVICE_SRP_AUTH":
        a = secrets.randbits(256)
        reply = respond("DEVICE_SRP_AUTH", reply, name, SRP_A="%x" % pow(srp.G, a, srp.N), **more)
        answer = proof(a, reply["ChallengeParameters"], device["group"], device["key"],
                       device["password"])
        reply = respond("DEVICE_PASSWORD_VERIFIER", reply, name, **answer, **more)
    return reply["AuthenticationResult"]


def confirm_device(result):
    metadata = result["NewDeviceMetadata"]
    device = {"key": metadata["DeviceKey"], "group": metadata["DeviceGroupKey"],
              "password": base64.b64encode(secrets.token_bytes(40)).decode()}
    salt = int.from_bytes(secrets.token_bytes(16), "big")
    x = srp.private_x(salt, device["group"] + device["key"], device["password"])
    text = lambda number: base64.b64encode(srp.pad(number)).decode()
    call("ConfirmDevice", AccessToken=result["AccessToken"], DeviceKey=device["key"],
         DeviceName="reference", DeviceSecretVerifierConfig={
             "Salt": text(salt), "PasswordVerifier": text(pow(srp.G, x, srp.N))})
    return device


results = [sign_in() for _ in range(int((sys.argv[7:] or ["1"])[0]))]
seen = {"SignIns": len(results)}
if "NewDeviceMetadata" in results[-1]:
    device = confirm_device(results[-1])
    seen["OnDevice"] = "AccessToken" in sign_in(device)
token = results[-1]["AccessToken"]
seen["Username"] = call("GetUser", AccessToken=token)["Username"]
print(json.dumps(seen))
