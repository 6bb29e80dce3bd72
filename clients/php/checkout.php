<?php // A checkout on a sandbox, from the cart to the refund. Copy what you need: PHP 8.1, no extensions, no packages.
//    php clients/php/checkout.php    (with BASE_URL, if that is not http://localhost:3000)
declare(strict_types=1);
const TRIES = 10, TIMEOUT_SECONDS = 10, LONGEST_PAUSE_SECONDS = 5, DOCUMENT = '52998224725';

/** The service refuses the request. The "code" of the problem says why, "next_action" what to do. */
class Refused extends Exception {
    public function __construct(public readonly array $problem) { parent::__construct(json_encode($problem)); }
}

/** Sends the same request until it has an answer. Every operation is safe to repeat. */
function send(string $method, string $path, ?array $body = null, array $headers = []): array {
    $header = ['accept: application/json', 'content-type: application/json', ...$headers];
    $content = $body === null ? '' : json_encode($body);
    $options = ['timeout' => TIMEOUT_SECONDS, 'ignore_errors' => true] + compact('method', 'header', 'content');
    $url = (getenv('BASE_URL') ?: 'http://localhost:3000') . $path;
    for ($attempt = 0; $attempt < TRIES; $attempt++) {
        $stream = @fopen($url, 'r', false, stream_context_create(['http' => $options]));
        $answer = $stream ? json_decode((string) @stream_get_contents($stream), true) : null; // null if it was cut
        $head = $stream ? implode("\n", stream_get_meta_data($stream)['wrapper_data']) : '';
        $status = (int) substr($head, strlen('HTTP/1.1 '), 3);
        if (is_array($answer) && $status < 500 && $status !== 408 && $status !== 429)
            return $status < 400 ? $answer : throw new Refused($answer);
        $retryAfter = preg_match('/^retry-after: (\d+)/mi', $head, $found) ? (int) $found[1] : 0;
        $pause = mt_rand() / mt_getrandmax() * min(LONGEST_PAUSE_SECONDS, 0.25 * 2 ** $attempt);
        usleep((int) (($retryAfter + $pause) * 1e6));
    }
    throw new RuntimeException("$method $path has no answer: " . ($head ?: error_get_last()['message']));
}

/** An API user: logs in, and again when the access token has expired. */
class Cashback {
    private ?string $token = null;
    public function __construct(private readonly array $login) {}
    public function call(string $method, string $path, ?array $body = null, ?int $version = null): array {
        foreach ([$this->token === null, true] as $isLast) {
            $this->token ??= send('POST', '/auth/login', $this->login)['access_token'];
            $headers = ["authorization: Bearer $this->token", ...($version ? ["if-match: \"$version\""] : [])];
            try {
                return send($method, $path, $body, $headers);
            } catch (Refused $refused) {
                if ($isLast || $refused->problem['code'] !== 'invalid_token') throw $refused;
                $this->token = null;
            }
        }
    }
}

function sell(Cashback $api, string $externalId, string $total): array {
    $cart = ['document' => DOCUMENT, 'total' => $total, 'items' => [['id' => 'sku-1', 'price' => $total]]];
    $order = $api->call('POST', '/orders', ['external_id' => $externalId, 'payment_methods' => []] + $cart);
    $maximum = $order['cashback']['to_redeem']['maximum'];
    $order = $api->call('PUT', "/orders/{$order['id']}/redemption", ['amount' => $maximum]);
    // Here you charge, once per order: store the charge under a unique key of the order first (docs/checkout.md).
    $paid = ['redeem' => $maximum, 'payment_methods' => [['id' => 'pix', 'amount' => $order['amount_to_pay']]]];
    return $api->call('POST', "/orders/{$order['id']}/complete", $paid, $order['version']);
}

function tell(string $what, array $figures, array $expected): void {
    echo "$what: ", implode(', ', $figures), "\n";
    if ($figures !== $expected) throw new RuntimeException('WRONG: expected ' . implode(', ', $expected));
}

$policy = ['earn_rate' => '0.05', 'redeem_share' => '0.5', 'release_days' => 8];
$user = send('POST', '/sandbox/merchants', ['name' => 'Loja da Ana', 'policy' => $policy])['user'];
$api = new Cashback(['email' => $user['email'], 'password' => $user['password']]);
$sales = [
    ['01-10', 'PED-1', '150.00', ['150.00', '0.00', '7.50']],
    ['01-18', 'PED-2', '100.00', ['92.50', '7.50', '4.62']],
];
foreach ($sales as [$day, $externalId, $total, $expected]) {
    while (!$api->call('PUT', '/sandbox/clock', ['on' => (date('Y') + 1) . "-$day"])['done']);
    ['id' => $id, 'amount_to_pay' => $paid, 'cashback' => $cashback] = sell($api, $externalId, $total);
    $figures = [$paid, $cashback['to_redeem']['redeemed'], $cashback['to_receive']['amount']];
    tell("$externalId is paid, redeems and earns", $figures, $expected);
}
$refund = $api->call('POST', "/orders/$id/refunds", ['external_id' => 'DEV-1', 'amount' => '40.00']);
tell('DEV-1 pays back, and returns', [$refund['amount_to_pay_back'], $refund['cashback_returned']], ['37.00', '3.00']);
$wallet = $api->call('POST', '/wallets/search', ['document' => DOCUMENT]);
tell('The balance is, and will be more by', [$wallet['available'], $wallet['pending']], ['3.00', '2.77']);
