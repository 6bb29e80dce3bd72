# A checkout on a sandbox, from the cart to the refund. Copy what you need: Python 3.8, standard library only.
#    python3 clients/python/checkout.py    (with BASE_URL, if that is not http://localhost:3000)
import datetime, http.client, json, os, random, time, urllib.request

BASE_URL = os.environ.get("BASE_URL", "http://localhost:3000")
TRIES, TIMEOUT_SECONDS, LONGEST_PAUSE_SECONDS, DOCUMENT = 10, 10, 5, "52998224725"

class Refused(Exception):
    """The service has refused the request: nothing was done. The "code" says why, "next_action" what to do."""

class AnyStatus(urllib.request.HTTPErrorProcessor):
    http_response = https_response = lambda self, request, response: response

def send(method, path, body=None, headers={}):
    """Sends the same request until it has an answer. Every operation is safe to repeat."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"accept": "application/json", "content-type": "application/json", **headers}
    for attempt in range(TRIES):
        retry_after = 0
        try:
            request = urllib.request.Request(BASE_URL + path, data, headers, method=method)
            with urllib.request.build_opener(AnyStatus).open(request, timeout=TIMEOUT_SECONDS) as response:
                retry_after = int(response.headers.get("retry-after", 0))
                answer = json.loads(response.read() or "null")  # fails if the body was cut
            if response.status < 400:
                return answer
            if response.status < 500 and response.status not in (408, 429):
                raise Refused(answer)
            failure = RuntimeError(answer)  # it may have been done: send it again later
        except (OSError, http.client.HTTPException, ValueError) as error:
            failure = error
        time.sleep(retry_after + random.uniform(0, min(LONGEST_PAUSE_SECONDS, 0.25 * 2**attempt)))
    raise failure

class Cashback:
    """An API user: logs in, and again when the access token has expired."""
    def __init__(self, email, password):
        self.login, self.token = {"email": email, "password": password}, None

    def call(self, method, path, body=None, version=None):
        if_match = {} if version is None else {"if-match": f'"{version}"'}
        for is_last in (self.token is None, True):
            self.token = self.token or send("POST", "/auth/login", self.login)["access_token"]
            try:
                return send(method, path, body, {"authorization": "Bearer " + self.token, **if_match})
            except Refused as refused:
                if is_last or refused.args[0]["code"] != "invalid_token":
                    raise
                self.token = None

def sell(api, external_id, total):
    cart = {"document": DOCUMENT, "total": total, "items": [{"id": "sku-1", "price": total}], "payment_methods": []}
    order = api("POST", "/orders", {"external_id": external_id, **cart})
    maximum = order["cashback"]["to_redeem"]["maximum"]
    order = api("PUT", f"/orders/{order['id']}/redemption", {"amount": maximum})
    # Here you charge, once per order: store the charge under a unique key of the order first (docs/checkout.md).
    paid = {"redeem": maximum, "payment_methods": [{"id": "pix", "amount": order["amount_to_pay"]}]}
    return api("POST", f"/orders/{order['id']}/complete", paid, order["version"])

def tell(what, figures, expected):
    print(f"{what}: {', '.join(figures)}")
    if figures != expected:
        raise SystemExit(f"WRONG: expected {expected}")

def main():
    policy = {"earn_rate": "0.05", "redeem_share": "0.5", "release_days": 8}
    user = send("POST", "/sandbox/merchants", {"name": "Loja da Ana", "policy": policy})["user"]
    api = Cashback(user["email"], user["password"]).call
    first, second = ["150.00", "0.00", "7.50"], ["92.50", "7.50", "4.62"]
    for day, external_id, expected in [("01-10", "PED-1", first), ("01-18", "PED-2", second)]:
        while not api("PUT", "/sandbox/clock", {"on": f"{datetime.date.today().year + 1}-{day}"})["done"]: pass
        order = sell(api, external_id, "150.00" if expected is first else "100.00")
        figures = order["cashback"]["to_redeem"]["redeemed"], order["cashback"]["to_receive"]["amount"]
        tell(f"{external_id} is paid, redeems and earns", [order["amount_to_pay"], *figures], expected)
    refund = api("POST", f"/orders/{order['id']}/refunds", {"external_id": "DEV-1", "amount": "40.00"})
    tell("DEV-1 pays back, and returns", [refund["amount_to_pay_back"], refund["cashback_returned"]], ["37.00", "3.00"])
    wallet = api("POST", "/wallets/search", {"document": DOCUMENT})
    tell("The balance is, and will be more by", [wallet["available"], wallet["pending"]], ["3.00", "2.77"])

if __name__ == "__main__": main()
