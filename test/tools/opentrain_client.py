"""What the marketplace's own client does and says: questions as JSON on standard input, answers on standard output."""

import base64
import json
import sys

from opentrain import OpenTrain, verify_webhook_signature
from opentrain.errors import OpenTrainAPIError


def is_accepted(attempt):
    try:
        return any(
            verify_webhook_signature(
                secret=secret,
                raw_body=base64.b64decode(attempt["body"]).decode(),
                signature_header=attempt["header"],
                now_seconds=attempt.get("now"),
            )
            for secret in attempt["secrets"]
        )
    except (TypeError, ValueError) as error:
        return f"fails with {type(error).__name__}"


def call(client, operation, arguments):
    resources = {"create": client.webhooks.create, "list": client.webhooks.list, "delete": client.webhooks.delete}
    try:
        return {"answer": {**resources, "account": client.auth_status}[operation](**arguments)}
    except OpenTrainAPIError as error:
        said = {"status": error.status, "code": error.code, "requestId": error.request_id, "details": error.details}
        return {"error": {"message": str(error), **said}}


asked = json.load(sys.stdin)
if "attempts" in asked:
    answers = [is_accepted(attempt) for attempt in asked["attempts"]]
else:
    client = OpenTrain(api_token=asked["token"], base_url=asked["url"])
    answers = [call(client, operation, arguments) for operation, arguments in asked["calls"]]
json.dump(answers, sys.stdout)
