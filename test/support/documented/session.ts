import type { Answer } from '../client.js';
import { TestClock } from '../clock.js';
import { countGap, differences, outcomeDifferences } from './comparison.js';
import type { Outcome } from './problems.js';
import type { Shop } from './shop.js';

/** A clock that stands still until it is moved, so that every instant of a response is known. */
export class StoppedClock extends TestClock {
  #at = Date.now();

  override now(): Date {
    return new Date(this.#at);
  }

  override skip(ms: number): void {
    this.#at += ms;
  }

  get at(): number {
    return this.#at;
  }
}

export interface Request {
  method: 'GET' | 'POST' | 'PUT';
  path: string;
  body?: unknown;
  ifMatch?: string | undefined;
}

/** One random sequence: sends requests and compares their responses with what the documents say. */
export class Session {
  /** What was sent and returned, for the message of a failure. */
  readonly #transcript: { sent: string; received: unknown }[] = [];
  compared = 0;
  #externalIds = 0;

  constructor(
    readonly clock: StoppedClock,
    readonly shops: Shop[],
    readonly documents: string[],
  ) {}

  get now(): number {
    return this.clock.at;
  }

  externalId(): string {
    return `${this.documents[0]}-${++this.#externalIds}`;
  }

  /**
   * Lets time pass in the model and in the service, with or without a sweep of the service at the end. Between the date
   * of a hold and the sweep "within seconds", the wallet can still show it, so a sweep releases every hold at its date.
   */
  async pass(ms: number, sweep: boolean): Promise<void> {
    const target = this.now + ms;
    for (;;) {
      const lapse = Math.min(...this.shops.flatMap((shop) => shop.lapses()));
      if (lapse > target) break;
      await this.#advance(lapse, true);
    }
    await this.#advance(target, sweep);
  }

  async #advance(target: number, sweep: boolean): Promise<void> {
    const ms = target - this.now;
    if (sweep) await this.clock.advance({ ms });
    else this.clock.skip(ms);
    this.record(`--- ${this.clock.now().toISOString()}${sweep ? ', swept' : ''}`);
    for (const shop of this.shops) {
      shop.settle(this.now);
      if (sweep) for (const order of shop.orders) order.due = undefined;
    }
  }

  /** Sends a request and fails unless the response is one of the outcomes. */
  async send(shop: Shop, request: Request, ...outcomes: Outcome[]): Promise<Answer> {
    const { method, path, body, ifMatch } = request;
    const client = await shop.client();
    const answer = await client.send(method, path, { body, ...(ifMatch && { headers: { 'if-match': ifMatch } }) });
    const sent = `${shop.name} ${method} ${path}${ifMatch === undefined ? '' : ` If-Match: ${ifMatch}`}`;
    this.record(`${sent} ${JSON.stringify(body) ?? ''}\n    ${answer.status}`, answer.body);
    this.compared++;
    if (outcomes.length > 1) countGap(`precedence of ${outcomes.map(nameOf).sort().join(', ')}`);
    const wrong = outcomes.map((outcome) => outcomeDifferences(outcome, answer));
    if (wrong.every((differing) => differing.length > 0))
      this.fail(wrong.map((lines) => lines.join('\n')).join('\nor\n'));
    return answer;
  }

  /** Sends a request that writes, then sends it again: "Every operation is safe to repeat." */
  async write(shop: Shop, request: Request, ...outcomes: Outcome[]): Promise<Answer> {
    const first = await this.send(shop, request, ...outcomes);
    const { request_id: _id, ...body } = first.body;
    await this.send(shop, request, {
      ...{ status: first.status, body: first.status < 300 ? body : problemMembers(body) },
      ...(first.status === 201 && { replayed: true }),
    });
    return first;
  }

  /** Compares the wallets of customers with a merchant. */
  async compareWallets(shop: Shop, documents = this.documents): Promise<void> {
    for (const document of documents) {
      const body = shop.walletView(document, this.now);
      const answer = await this.send(
        shop,
        { method: 'POST', path: '/wallets/search', body: { document } },
        { status: 200, body },
      );
      shop.wallet(document).id ??= (answer.body.id as string | null) ?? undefined;
    }
  }

  expectSame(expected: unknown, actual: unknown, what: string): void {
    const wrong = differences(expected, actual, what);
    if (wrong.length > 0) this.fail(wrong.join('\n'));
  }

  record(sent: string, received?: unknown): void {
    this.#transcript.push({ sent, received });
  }

  /** Fails with what was sent in this sequence, and with the last bodies. */
  fail(message: string): never {
    const lines = this.#transcript.map(({ sent, received }, index) =>
      index < this.#transcript.length - 4 ? sent : `${sent} ${JSON.stringify(received)}`,
    );
    const shown = lines.filter((line) => !line.includes(' /wallets/search ') || line === lines.at(-1));
    throw new Error(`${message}\n\n${shown.join('\n')}`);
  }
}

const nameOf = ({ body, status }: Outcome): string => (status < 300 ? String(status) : (body as { code: string }).code);

function problemMembers(body: Record<string, unknown>): Record<string, unknown> {
  const { title: _title, detail: _detail, instance: _instance, errors: _errors, ...members } = body;
  return members;
}
