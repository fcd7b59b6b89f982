/// What `/openapi.json` says.
public enum OpenAPI {
  public static let document = #"""
    {
      "openapi": "3.1.0",
      "info": {
        "title": "credd-authserver",
        "version": "1",
        "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        "description": "Vouches for users to Amazon Cognito, and signs them in."
      },
      "servers": [{"url": "/"}],
      "paths": {
        "/v1/token": {
          "post": {
            "operationId": "token",
            "summary": "The token callback of credd",
            "security": [{"host": []}, {"hostBeside": [], "session": []}],
            "parameters": [
              {"name": "Cache-Control", "in": "header", "schema": {"type": "string"},
               "description": "no-cache asks for a new token in place of the one at hand"}],
            "requestBody": {"required": true, "content": {"application/json": {
              "schema": {"$ref": "#/components/schemas/TokenRequest"}}}},
            "responses": {
              "200": {"description": "The user's token",
                "headers": {"Credd-Host-Expires": {"schema": {"type": "string", "format": "date-time"},
                  "description": "When the host's enrolment ends, where it does"}},
                "content": {"application/json": {
                  "schema": {"$ref": "#/components/schemas/Token"}}}},
              "default": {"$ref": "#/components/responses/Error"}
            }
          }
        },
        "/v1/login": {
          "post": {
            "operationId": "login",
            "summary": "Signs a user in on the host",
            "security": [{"host": []}],
            "requestBody": {"required": true, "content": {"application/json": {
              "schema": {"$ref": "#/components/schemas/LoginRequest"}}}},
            "responses": {
              "200": {"description": "The sign-in", "content": {"application/json": {
                "schema": {"$ref": "#/components/schemas/SignIn"}}}},
              "default": {"$ref": "#/components/responses/Error"}
            }
          }
        },
        "/v1/logout": {
          "post": {
            "operationId": "logout",
            "summary": "Ends a sign-in",
            "security": [{"hostBeside": [], "session": []}],
            "requestBody": {"required": false, "content": {"application/json": {
              "schema": {"type": "object"}}}},
            "responses": {
              "200": {"description": "It has ended", "content": {"application/json": {
                "schema": {"type": "object"}}}},
              "default": {"$ref": "#/components/responses/Error"}
            }
          }
        },
        "/v1/register": {
          "post": {
            "operationId": "register",
            "summary": "Makes an account",
            "security": [],
            "requestBody": {"required": true, "content": {"application/json": {
              "schema": {"$ref": "#/components/schemas/RegisterRequest"}}}},
            "responses": {
              "201": {"description": "The account", "content": {"application/json": {
                "schema": {"type": "object", "required": ["Username"],
                           "properties": {"Username": {"type": "string"}}}}}},
              "default": {"$ref": "#/components/responses/Error"}
            }
          }
        },
        "/healthz": {
          "get": {
            "operationId": "health",
            "security": [],
            "responses": {"200": {"description": "The server runs", "content": {"application/json": {
              "schema": {"type": "object"}}}}}
          }
        },
        "/openapi.json": {
          "get": {
            "operationId": "document",
            "security": [],
            "responses": {"200": {"description": "This document", "content": {"application/json": {
              "schema": {"type": "object"}}}}}
          }
        }
      },
      "components": {
        "securitySchemes": {
          "host": {"type": "http", "scheme": "bearer", "description": "The host's token"},
          "hostBeside": {"type": "apiKey", "in": "header", "name": "Credd-Host-Authorization",
                         "description": "Bearer and the host's token, beside a user's"},
          "session": {"type": "http", "scheme": "bearer", "description": "The user's SessionToken"}
        },
        "responses": {
          "Error": {"description": "Why not", "headers": {"Retry-After": {"schema": {"type": "integer"}}},
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
        },
        "schemas": {
          "Error": {"type": "object", "required": ["Code", "Message", "message"], "properties": {
            "Code": {"type": "string"}, "Message": {"type": "string"}, "message": {"type": "string"}}},
          "TokenRequest": {"type": "object",
            "required": ["IdentityPoolId", "DeveloperProviderName", "DeveloperUserIdentifier"],
            "properties": {
              "IdentityPoolId": {"type": "string"},
              "DeveloperProviderName": {"type": "string"},
              "DeveloperUserIdentifier": {"type": "string", "minLength": 1, "maxLength": 1024},
              "IdentityId": {"type": ["string", "null"]},
              "Logins": {"type": ["object", "null"], "additionalProperties": {"type": "string"}}}},
          "Token": {"type": "object", "required": ["IdentityId", "Token", "IdentityPoolId"],
            "properties": {"IdentityId": {"type": "string"}, "Token": {"type": "string"},
                           "IdentityPoolId": {"type": "string"}}},
          "LoginRequest": {"type": "object", "required": ["Username", "Password"], "properties": {
            "Username": {"type": "string"}, "Password": {"type": "string"},
            "DeveloperProviderName": {"type": ["string", "null"]}}},
          "SignIn": {"type": "object", "required": ["SessionToken", "DeveloperUserIdentifier"],
            "properties": {"SessionToken": {"type": "string"},
                           "DeveloperUserIdentifier": {"type": "string"}}},
          "RegisterRequest": {"type": "object", "required": ["Username", "Password"], "properties": {
            "Username": {"type": "string"}, "Password": {"type": "string"},
            "Invitation": {"type": ["string", "null"]}}}
        }
      }
    }
    """#
}
