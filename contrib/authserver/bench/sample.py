"""The token callback of docs/backend.md, as a WSGI application for gunicorn."""

import json
import os
import sqlite3

import boto3
import botocore.exceptions

cognito = boto3.client("cognito-identity", region_name="us-east-1")
bearer = "Bearer " + os.environ["HOST_TOKEN"]


def identity_of(user, new=None):
    with sqlite3.connect(os.environ["IDENTITIES"], timeout=10) as db:
        db.execute("CREATE TABLE IF NOT EXISTS identity (user PRIMARY KEY, id)")
        if new:
            db.execute("INSERT OR REPLACE INTO identity VALUES (?, ?)", (user, new))
        row = db.execute("SELECT id FROM identity WHERE user = ?", (user,)).fetchone()
    return {"IdentityId": row[0]} if row else {}


def application(environ, start_response):
    query = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
    if environ.get("HTTP_AUTHORIZATION") != bearer:
        start_response("401 Unauthorized", [])
        return [b"{}"]
    user = query["DeveloperUserIdentifier"]
    try:
        token = cognito.get_open_id_token_for_developer_identity(
            IdentityPoolId=query["IdentityPoolId"], **identity_of(user),
            Logins={query["DeveloperProviderName"]: user}, TokenDuration=900)
    except botocore.exceptions.ClientError as error:
        start_response("502 Bad Gateway", [])
        return [str(error).encode()]
    identity_of(user, token["IdentityId"])
    body = json.dumps({"IdentityId": token["IdentityId"], "Token": token["Token"]}).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]
