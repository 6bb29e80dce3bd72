"""A checkout on a sandbox, from the cart to the refund. Copy what you need: Python 3.8, standard library only.

    python3 clients/python/checkout.py    (with BASE_URL, if that is not http://localhost:3000)
"""
import datetime, http.client, json, os, random, time, urllib.request

BASE_URL = os.environ.get("BASE_URL", "http://localhost:3000")
TRIES, TIMEOUT_SECONDS, LONGEST_PAUSE_SECONDS, TOKEN_SECONDS = 10, 10, 5, 3000


class Refused(Exception):
    """The service refuses the request. The "code" of the problem says why, "next_action" what to do."""


class AnyStatus(urllib.request.HTTPErrorProcessor):
    http_response = https_response = lambda self, request, response: response


def send(method, path, body=None, headers={}):
    """Sends the same request until it has an answer. Every operation is safe to repeat."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"accept": "application/json", "content-type": "application/json", **headers}
    for attempt in range(TRIES):
        retry_after = "0"
        try:
            request = urllib.request.Request(BASE_URL + path, data, headers, method=method)
            with urllib.request.build_opener(AnyStatus).open(request, timeout=TIMEOUT_SECONDS) as response:
                retry_after = response.headers.get("retry-after", "0")
                answer = json.loads(response.read() or "null")  # fails if the body was cut
            if response.status < 400:
                return answer
            if response.status < 500 and response.status not in (408, 429):
                raise Refused(answer)
            failure = Exception(f"{method} {path}: {answer}")
        except (OSError, http.client.HTTPException, ValueError) as error:
            failure = error
        pause = random.uniform(0, min(LONGEST_PAUSE_SECONDS, 0.25 * 2**attempt))
        time.sleep(pause + (int(retry_after) if retry_after.isdigit() else 0))
    raise failure


class Cashback:
    """An API user: logs in, refreshes the tokens, and logs in again when the session has ended."""

    def __init__(self, email, password):
        self.login, self.tokens, self.refresh_at = {"email": email, "password": password}, None, 0

    def call(self, method, path, body=None, version=None, tries=2):
        if time.monotonic() >= self.refresh_at:
            self.get_tokens()
        if_match = {} if version is None else {"if-match": f'"{version}"'}
        try:
            return send(method, path, body, {"authorization": "Bearer " + self.tokens["access_token"], **if_match})
        except Refused as refused:
            if refused.args[0]["code"] != "invalid_token" or tries == 1:
                raise
        self.refresh_at = 0
        return self.call(method, path, body, version, tries - 1)

    def get_tokens(self):
        last, self.tokens = self.tokens, None
        try:
            self.tokens = last and send("POST", "/auth/refresh", {"refresh_token": last["refresh_token"]})
        except Refused:
            pass
        self.tokens = self.tokens or send("POST", "/auth/login", self.login)
        self.refresh_at = time.monotonic() + TOKEN_SECONDS


def move_clock(day):
    while not api("PUT", "/sandbox/clock", {"on": day})["done"]:
        pass


def sell(external_id, total):
    cart = {"document": "52998224725", "total": total, "items": [{"id": "sku-1", "price": total}]}
    maximum = api("POST", "/quotes", cart)["cashback"]["to_redeem"]["maximum"]
    order = api("POST", "/orders", {"external_id": external_id, "payment_methods": [], **cart})
    order = api("PUT", f"/orders/{order['id']}/redemption", {"amount": maximum})
    # Here you charge, once per order: store the charge under a unique key of the order first (docs/checkout.md).
    paid = {"redeem": maximum, "payment_methods": [{"id": "pix", "amount": order["amount_to_pay"]}]}
    return api("POST", f"/orders/{order['id']}/complete", paid, order["version"])


def tell(what, figures, expected):
    print(f"{what}: {', '.join(figures)}")
    if figures != expected:
        raise SystemExit(f"WRONG: expected {expected}")


policy = {"earn_rate": "0.05", "redeem_share": "0.5", "release_days": 8}
user = send("POST", "/sandbox/merchants", {"name": "Loja da Ana", "policy": policy})["user"]
api = Cashback(user["email"], user["password"]).call
year = datetime.date.today().year + 1
move_clock(f"{year}-01-10")
order = sell("PED-1", "150.00")
tell("PED-1 is paid, and earns", [order["amount_to_pay"], order["cashback"]["to_receive"]["amount"]], ["150.00", "7.50"])
move_clock(f"{year}-01-18")
order = sell("PED-2", "100.00")
tell("PED-2 is paid, and redeems", [order["amount_to_pay"], order["cashback"]["to_redeem"]["redeemed"]], ["92.50", "7.50"])
refund = api("POST", f"/orders/{order['id']}/refunds", {"external_id": "DEV-1", "amount": "40.00"})
tell("DEV-1 pays back, and returns", [refund["amount_to_pay_back"], refund["cashback_returned"]], ["37.00", "3.00"])
wallet = api("POST", "/wallets/search", {"document": "52998224725"})
tell("The balance is, and will be more by", [wallet["available"], wallet["pending"]], ["3.00", "2.77"])
