import type { Answer } from '../client.js';
import type { FrozenClock } from '../clock.js';
import { type Campaign, type InForce, inForceAt } from './campaigns.js';
import { inAnyForm, REPEATED_DIGITS } from './content.js';
import type { Debit } from './debits.js';
import { anId, anything, count, differences, oneOf, type Outcome, outcomeDifferences, problem } from './expected.js';
import type { Dice } from './dice.js';
import type { Grant } from './grants.js';
import type { Order } from './order.js';
import type { GrantedToday, ModelMerchant, ModelUser } from './property.js';
import type { Rules } from './rules.js';
import { brl, instant, localDate, sum } from './values.js';
import { type By, type Credit, Wallet } from './wallet.js';

export interface Request {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  body?: unknown;
  ifMatch?: string | undefined;
}

/** A request whose body is in any of its forms. */
export function requestOf(dice: Dice, method: 'POST' | 'PUT', path: string, body: object | undefined): Request {
  return { method, path, body: body && inAnyForm(dice, body) };
}

/** One random sequence of operations: time passes for all of its merchants. */
export class Sequence {
  readonly shops: Shop[];
  compared = 0;
  /** What was sent and returned, for the message of a failure. */
  readonly #transcript: [sent: string, received?: unknown][] = [];
  #externalIds = 0;

  constructor(
    readonly clock: FrozenClock,
    merchants: ModelMerchant[],
    readonly documents: string[],
  ) {
    this.shops = merchants.map((merchant) => new Shop(this, merchant));
  }

  newExternalId(): string {
    return `${this.documents[0]}-${++this.#externalIds}`;
  }

  /**
   * Lets time pass in the model and in the service, with or without a sweep of the service at the end. Until a sweep
   * "the order and the wallet can still show the hold", so there is a sweep at each date at which a hold lapses.
   */
  async pass(ms: number, isSwept: boolean): Promise<void> {
    const end = this.clock.ms + ms;
    for (;;) {
      const pending = this.shops.flatMap(({ orders }) => orders).filter(({ status }) => status === 'pending');
      const lapse = Math.min(...pending.map(({ held, expiresAt }) => (held > 0n ? expiresAt : Infinity)));
      await this.#passTo(Math.min(lapse, end), isSwept || lapse <= end);
      if (lapse > end) return;
    }
  }

  async #passTo(at: number, isSwept: boolean): Promise<void> {
    this.clock.skip(at - this.clock.ms);
    if (isSwept) await this.clock.sweep();
    this.record(`--- ${instant(at)}${isSwept ? ', swept' : ''}`);
    for (const shop of this.shops) shop.settle(at);
  }

  record(sent: string, received?: unknown): void {
    this.#transcript.push([sent, received]);
  }

  /** Fails with what was sent in this sequence, and with the last bodies. */
  fail(message: string): never {
    const lines = this.#transcript.map(([sent, received], index) =>
      index < this.#transcript.length - 4 ? sent : `${sent} ${JSON.stringify(received)}`,
    );
    const shown = lines.filter((line) => !line.includes(' /wallets/search ') || line === lines.at(-1));
    throw new Error(`${message}\n\n${shown.join('\n')}`);
  }
}

/** One merchant, what it has done in a sequence, and what it should see. */
export class Shop {
  readonly campaigns: Campaign[] = [];
  readonly orders: Order[] = [];
  readonly grants: Grant[] = [];
  readonly debits: Debit[] = [];
  /** The external IDs of orders that were refused. */
  readonly #refused: string[] = [];
  readonly #wallets = new Map<string, Wallet>();
  /** The users take turns: one sends a request that writes, and the next one repeats it. */
  #turn = 0;

  constructor(
    readonly sequence: Sequence,
    private readonly merchant: ModelMerchant,
  ) {}

  get name(): string {
    return this.merchant.name;
  }

  /** What holds now: "An order keeps the policy of its creation." */
  get inForce(): InForce {
    return this.inForceAt(this.now);
  }

  get rules(): Rules {
    return this.inForce.rules;
  }

  /** The rules without a campaign. */
  get base(): Rules {
    return this.merchant.rules;
  }

  get now(): number {
    return this.sequence.clock.ms;
  }

  get policyVersion(): number {
    return this.merchant.history.length;
  }

  /**
   * The rules as they stood at an instant, and the campaign that they are from, maybe one of an earlier sequence.
   *
   * @param isLate whether also the base is that of the instant
   */
  inForceAt(at: number, isLate = false): InForce {
    const { history, campaigns, rules } = this.merchant;
    const base = isLate ? (history.findLast((one) => one.at <= at) ?? history[0]!).rules : rules;
    return inForceAt([...campaigns, ...this.campaigns], base, at);
  }

  get #user(): ModelUser {
    const { users } = this.merchant;
    return users[this.#turn % users.length]!;
  }

  get grantedToday(): GrantedToday {
    return this.merchant.grantedToday;
  }

  /** Who sends the next request. */
  get by(): By {
    return this.#user.by;
  }

  wallet(document: string): Wallet {
    let wallet = this.#wallets.get(document);
    if (!wallet) this.#wallets.set(document, (wallet = new Wallet(this.rules.timeZone)));
    return wallet;
  }

  /** A customer, usually the same one, so that many operations meet in a wallet. */
  aDocument(dice: Dice): string {
    return this.sequence.documents[dice.once(6) ? 1 : 0]!;
  }

  /** A customer for what is new, rarely one whose document is refused there. */
  aNewDocument(dice: Dice): string {
    return dice.once(20) ? dice.pick(REPEATED_DIGITS) : this.aDocument(dice);
  }

  /** "A refused request leaves nothing": the external ID can be used again, with different content. */
  refuse(externalId: string): void {
    this.#refused.push(externalId);
  }

  anExternalId(): string {
    const refused = this.#refused.pop();
    if (refused !== undefined) count('an external ID is used again after a refusal');
    return refused ?? this.sequence.newExternalId();
  }

  /** An order, usually a recent one, and usually one of those that make the operation interesting. */
  anOrder(dice: Dice, ...interesting: ((order: Order) => boolean)[]): Order {
    const choices = interesting.map((is) => this.orders.filter(is)).filter(({ length }) => length > 0);
    const orders = choices.length > 0 && !dice.once(6) ? dice.pick(choices) : this.orders;
    return dice.pick(dice.once(4) ? orders : orders.slice(-3));
  }

  /** Lets expire what is due, in the order of time: "The dates decide exactly." */
  settle(now: number): void {
    const wallets = [...this.#wallets.values()];
    for (;;) {
      const credits = wallets.flatMap((wallet) => wallet.credits.filter((credit) => wallet.free(credit) > 0n));
      const pending = this.orders.filter(({ status }) => status === 'pending');
      const at = Math.min(...[...credits, ...pending].map(({ expiresAt }) => expiresAt));
      if (at > now) return;
      for (const wallet of wallets) wallet.expire(at);
      for (const order of pending.filter(({ expiresAt }) => expiresAt === at)) order.expire();
    }
  }

  /** Lets the service write what has expired. Until then, what reads an order may still show it as pending. */
  sweep(): Promise<void> {
    return this.sequence.pass(0, true);
  }

  /** The dates of what can happen next, for time to pass to exactly there. */
  dates(): number[] {
    const pending = this.orders.filter(({ status }) => status === 'pending').map(({ expiresAt }) => expiresAt);
    const credits = [...this.#wallets.values()].flatMap((wallet) => wallet.credits);
    const dates = [...pending, ...credits.flatMap(({ availableAt, expiresAt }) => [availableAt, expiresAt])];
    return dates.filter((at) => at > this.now);
  }

  /** When credits expire of which something is held. */
  heldUntil(): number[] {
    const held = [...this.#wallets.values()].flatMap((one) => one.credits.filter((credit) => one.heldOf(credit) > 0n));
    return held.map(({ expiresAt }) => expiresAt).filter((at) => at > this.now);
  }

  /** Changes the rules that hold without a campaign. */
  async changePolicy(earnRate: bigint, redeemShare: bigint): Promise<void> {
    await this.merchant.set({ ...this.base, earnRate, redeemShare });
    this.sequence.record(`${this.name} has an earn rate of ${earnRate} and redeems ${redeemShare}`);
  }

  /** Sends a request and fails unless the response is one of the outcomes. */
  async send(request: Request, ...outcomes: Outcome[]): Promise<Answer> {
    const answer = await this.#exchange(request, outcomes);
    const path = request.path.replace(/[0-9a-f-]{36}/g, '{id}').replace(/(\?|(?<=external-id\/)).*/, '');
    const replayed = answer.headers.has('idempotency-replayed') ? ' replayed' : '';
    count(`${request.method} ${path} ${answer.body.code ?? answer.status}${replayed}`);
    if (
      answer.status < 300 &&
      /{id}|external-id/.test(path) &&
      this.sequence.compared % (request.method === 'GET' ? 3 : 15) === 0
    ) {
      // "An order of another merchant is 404."
      const other = this.sequence.shops.find((shop) => shop !== this) as Shop;
      await other.#exchange(request, [problem('not_found')]);
      count(`${request.method} ${path} of another merchant`);
    }
    return answer;
  }

  async #exchange(request: Request, outcomes: Outcome[]): Promise<Answer> {
    const { method, path, body, ifMatch } = request;
    const client = await this.#user.client();
    const answer = await client.send(method, path, { body, ...(ifMatch && { headers: { 'if-match': ifMatch } }) });
    const field = ifMatch === undefined ? '' : ` If-Match: ${ifMatch}`;
    const sent = `${this.name} ${method} ${path}${field} ${JSON.stringify(body) ?? ''}\n    ${answer.status}`;
    this.sequence.record(sent, answer.body);
    this.sequence.compared++;
    const wrong = outcomes.map((outcome) => outcomeDifferences(outcome, answer).join('\n'));
    if (wrong.every(Boolean)) this.sequence.fail(wrong.join('\nor\n'));
    return answer;
  }

  /**
   * Sends a request that writes, then the same again: "Every operation is safe to repeat." What was done is repeated by
   * another user. What was refused is not, because another user may grant more on this day.
   *
   * @param refusals why it is refused. Of several, the documents do not say which comes first
   * @param happen changes the model if nothing refuses the request, and returns the outcome
   * @returns the response if the request was not refused
   */
  async write(request: Request, refusals: (Outcome | false)[], happen: () => Outcome): Promise<Answer | undefined> {
    const possible = refusals.filter((one) => one !== false);
    const outcome = possible.length > 0 ? undefined : happen();
    const answer = await this.send(request, ...(outcome ? [outcome] : possible));
    const { status } = answer;
    const body = { ...answer.body, request_id: anything };
    if (outcome) this.#turn++;
    await this.#exchange(request, [{ status, body, ...(outcome?.replayed !== undefined && { replayed: true }) }]);
    return outcome && answer;
  }

  /** Compares a value that is a part of a response, or follows from several responses. */
  expectSame(expected: unknown, actual: unknown, what: string): void {
    const wrong = differences(expected, actual, what);
    if (wrong.length > 0) this.sequence.fail(wrong.join('\n'));
  }

  /** @param sent the document in any of its forms */
  async compareWallet(document: string, sent = document): Promise<void> {
    const request: Request = { method: 'POST', path: '/wallets/search', body: { document: sent } };
    const { body } = await this.send(request, { status: 200, body: this.walletView(document) });
    this.wallet(document).id ??= body.id ?? undefined;
  }

  walletView(document: string): Record<string, unknown> {
    const { now } = this;
    const wallet = this.wallet(document);
    const open = wallet.open(now);
    /** The amount of the next date, with the last day before the date or the day that begins with it. */
    const dated = (member: string, before: number, dateOf: (credit: Credit) => number): object | null => {
      const next = nextAmount(wallet, open, dateOf);
      return next && { ...next, [member]: localDate(Date.parse(next.at) - before, this.rules.timeZone) };
    };
    return {
      // "null for an unknown customer": the documents do not say whether an order makes a customer known.
      id: wallet.id ?? (wallet.entries.length > 0 ? anId : oneOf(null, anId)),
      document,
      ...{ available: brl(wallet.available(now)), pending: brl(wallet.pending(now)) },
      ...{ held: brl(wallet.held()), debt: brl(wallet.debt) },
      frozen: wallet.isFrozen,
      freeze_changed_at: wallet.freeze ? instant(wallet.freeze.at) : null,
      ...{ freeze_changed_by: wallet.freeze?.by, freeze_reason: wallet.freeze?.reason },
      next_release: dated('available_on', 0, ({ availableAt }) => (availableAt > now ? availableAt : Infinity)),
      next_expiry: dated('expires_on', 1, ({ availableAt, expiresAt }) => (availableAt > now ? Infinity : expiresAt)),
    };
  }
}

function nextAmount(
  wallet: Wallet,
  credits: Credit[],
  dateOf: (credit: Credit) => number,
): { amount: string; at: string } | null {
  const at = Math.min(...credits.map(dateOf));
  const due = credits.filter((credit) => dateOf(credit) === at);
  return at === Infinity ? null : { amount: brl(sum(due.map((credit) => wallet.free(credit)))), at: instant(at) };
}
