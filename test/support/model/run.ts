/* eslint jest/no-standalone-expect: off -- Its methods are called inside tests alone. */
import { expect } from '@jest/globals';
import { GrantsService } from '../../../src/cashback/grants.service.js';
import type { Answer } from '../client.js';
import { numberEvents } from '../events.js';
import { expectInvariants } from '../expectations.js';
import { aDocument } from '../factories.js';
import type { Service } from '../service.js';
import type { FrozenClock } from '../clock.js';
import { startOfDayAfter } from '../days.js';
import { iso, itemsOf, type ModelContent, type ModelOrder, statusOf } from './order.js';
import { brl, DAY, least, type Method, MINUTE, most, total } from './rules.js';
import { type Shop, twoPolicies } from './shops.js';
import { type Amount, CUSTOMERS, type EligiblePart, MERCHANTS, type Split, type Step } from './steps.js';
import { type Expected, World } from './world.js';

/** The largest amount that a request can contain. */
const MOST_CENTS = 99_999_999_999n;

let runs = 0;

/** Runs one sequence of steps on the service and the model. After each step, both must agree. */
export class Run {
  /** The number of responses that were compared with the model. */
  answers = 0;
  steps = 0;
  readonly #name = `M${++runs}`;
  readonly #documents = Array.from({ length: CUSTOMERS }, aDocument);
  readonly #world: World;
  /** Pairs of merchant and customer that this run has used. */
  readonly #seen = new Set<string>();
  readonly #ids = new Map<string, string>();
  /** The IDs of the grants, in the order of `World.grants`. */
  readonly #grants: string[] = [];

  constructor(
    private readonly service: Service,
    private readonly clock: FrozenClock,
    private readonly shops: Shop[],
    /** The number of steps after which the whole database is checked again. */
    private readonly proveEvery: number,
  ) {
    this.#world = new World(twoPolicies(), clock.ms);
  }

  async take(steps: Step[]): Promise<void> {
    const rules = twoPolicies();
    for (const [at, shop] of this.shops.entries()) await shop.setRules(rules[at]!);
    for (const step of steps) {
      this.#pass(1);
      await this.#take(step).catch((error: unknown) => {
        throw new Error(`step ${this.steps + 1}, ${JSON.stringify(step)}: ${String(error)}`, { cause: error });
      });
      if (++this.steps % this.proveEvery === 0) await expectInvariants(this.service);
    }
    await this.#seeAll();
    await expectInvariants(this.service);
  }

  async #take(step: Step): Promise<void> {
    switch (step.do) {
      case 'wait':
        this.#pass(step.minutes * 60_000);
        if (step.sweep) await this.#sweep();
        return this.#seeAll();
      case 'wait for a date':
        this.#passTo(step.which, step.plusMs);
        if (step.sweep) await this.#sweep();
        return this.#seeAll();
      case 'grant':
        return this.#grant(step);
      case 'void':
        return this.#void(step);
      case 'create':
        return this.#create(step);
      case 'quote':
        return this.#quote(step);
      case 'change policy':
        Object.assign(this.#world.rulesOf(step.merchant), {
          earnBps: BigInt(step.earnBps),
          shareBps: BigInt(step.shareBps),
        });
        return this.#shop(step.merchant).setRules(this.#world.rulesOf(step.merchant));
      case 'create again':
      case 'amend':
      case 'hold':
      case 'complete':
      case 'cancel':
      case 'refund':
      case 'look': {
        const orders = step.do === 'amend' ? this.#amendable() : this.#world.orders;
        const order = orders.at(-1 - (step.order % Math.max(orders.length, 1)));
        if (order === undefined) return;
        // The order in which orders expire matters to their wallet: only one that is alone may come first.
        const due = this.#world.due.filter(
          (other) => other.merchant === order.merchant && other.customer === order.customer,
        );
        if (due.length > 1) await this.#sweep();
        await this.#takeOn(order, step);
        // An operation that was refused did not expire the order.
        await this.#sweep();
        await this.#see(order.merchant, order.customer);
      }
    }
  }

  async #takeOn(
    order: ModelOrder,
    step: Exclude<Step, { do: 'wait' | 'wait for a date' | 'grant' | 'void' | 'create' | 'quote' | 'change policy' }>,
  ): Promise<void> {
    const path = `/orders/${this.#ids.get(order.key)}`;
    switch (step.do) {
      case 'create again':
        return this.#createAgain(order, step);
      case 'amend':
        return this.#amend(order, path, step);
      case 'hold': {
        const cents = amountOf(step.amount, this.#world.maximum(order).cents);
        const until = step.minutes === null ? undefined : this.clock.ms + step.minutes * MINUTE;
        return this.#both(
          order.merchant,
          'PUT',
          `${path}/redemption`,
          { amount: brl(cents), ...(until !== undefined && { expires_at: iso(until) }) },
          () => this.#world.hold(order, cents, until),
          step.again,
        );
      }
      case 'complete': {
        const redeem = step.redeem === null ? undefined : amountOf(step.redeem, this.#world.maximum(order).cents);
        const methods = step.split === null ? undefined : split(order.total, step.split);
        const body = {
          ...(redeem !== undefined && { redeem: brl(redeem) }),
          ...(methods && { payment_methods: sent(methods) }),
        };
        return this.#both(
          order.merchant,
          'POST',
          `${path}/complete`,
          body,
          () => this.#world.complete(order, redeem, methods),
          step.again,
        );
      }
      case 'cancel':
        return this.#both(
          order.merchant,
          'POST',
          `${path}/cancel`,
          undefined,
          () => this.#world.cancel(order),
          step.again,
        );
      case 'refund': {
        const asked = amountOf(step.amount, order.total - order.refunded);
        const cents = asked === 0n ? 1n : asked;
        const externalId = step.name === null ? `R-${order.refunds.size + 10}` : `R-${step.name}`;
        const eligible = step.eligible && eligiblePart(step.eligible, this.#world.eligibleBounds(order, cents));
        const body = {
          external_id: externalId,
          amount: brl(cents),
          ...(eligible !== null && { eligible_amount: brl(eligible) }),
        };
        return this.#both(
          order.merchant,
          'POST',
          `${path}/refunds`,
          body,
          () => this.#world.refund(order, externalId, cents, eligible),
          step.again,
        );
      }
      case 'look': {
        const other = (order.merchant + 1) % MERCHANTS;
        const stranger = (): Expected => ({ status: 404, body: { code: 'not_found' } });
        return this.#both(
          step.asOther ? other : order.merchant,
          'GET',
          path,
          undefined,
          step.asOther ? stranger : () => this.#world.look(order),
        );
      }
    }
  }

  async #grant(step: Extract<Step, { do: 'grant' }>): Promise<void> {
    const { merchant, customer } = step;
    const availableAt = this.clock.ms + step.inDays * DAY;
    const { validityDays, zone } = this.#world.rulesOf(merchant);
    const expiresAt =
      step.forDays === null ? startOfDayAfter(availableAt, validityDays, zone) : availableAt + step.forDays * DAY;
    const dates = {
      ...(step.inDays > 0 && { availableAt: new Date(availableAt) }),
      ...(step.forDays !== null && { expiresAt: new Date(expiresAt) }),
    };
    const externalId = `${this.#name}-${this.#grants.length}`;
    const { credit } = await this.service.app.get(GrantsService).grant(this.#shop(merchant).merchant.id, {
      ...{ document: this.#documents[customer]!, amountCents: step.cents, externalId },
      ...dates,
    });
    this.#grants.push(credit.id);
    this.#world.grant(merchant, customer, BigInt(step.cents), availableAt, expiresAt);
    await this.#see(merchant, customer);
  }

  /** Voids one of the latest grants. */
  async #void(step: Extract<Step, { do: 'void' }>): Promise<void> {
    const at = this.#grants.length - 1 - (step.grant % Math.max(this.#grants.length, 1));
    const grant = this.#world.grants[at];
    if (grant === undefined) return;
    const path = `/grants/${this.#grants[at]}/void`;
    await this.#both(grant.merchant, 'POST', path, undefined, () => this.#world.void(grant), step.again);
    await this.#see(grant.merchant, grant.customer);
  }

  async #create({ merchant, customer, cents, ...step }: Extract<Step, { do: 'create' }>): Promise<void> {
    const key = String(this.#world.orders.length);
    const methods = split(BigInt(cents), step.split);
    const order = {
      key,
      merchant,
      customer,
      externalId: `${this.#name}-${key}`,
      document: this.#documents[customer]!,
      total: BigInt(cents),
      eligible: (BigInt(cents) * BigInt(step.eligiblePercent ?? 100)) / 100n,
      methods,
    };
    const body = createBody(order, step.eligiblePercent === null);
    await this.#both(merchant, 'POST', '/orders', body, () => this.#world.create(order), false, key);
    const created = this.#world.orders.at(-1);
    if (step.again && created?.key === key)
      await this.#both(merchant, 'POST', '/orders', body, () => this.#world.createAgain(created, []));
  }

  /** Sends the first or the current content of an order, or one that differs from the current one. */
  #createAgain(order: ModelOrder, { differ, first }: Extract<Step, { do: 'create again' }>): Promise<void> {
    const wholeBody = (content: ModelContent): Record<string, unknown> =>
      createBody({ ...order, ...content }, content.eligible === content.total);
    if (first)
      return this.#both(order.merchant, 'POST', '/orders', wholeBody(order.first), () =>
        this.#world.createAgain(order, []),
      );
    const body = wholeBody(order);
    if (differ.includes('/eligible_total')) body.eligible_total = order.eligible === order.total ? '0.00' : undefined;
    if (differ.includes('/document')) body.document = '00000000000';
    if (differ.includes('/total')) body.total = brl(order.total === MOST_CENTS ? order.total - 1n : order.total + 1n);
    if (differ.includes('/payment_methods'))
      body.payment_methods = order.methods.length > 0 ? [] : [{ id: 'credit_card', amount: '0.01' }];
    // What differs from the current content can be the first content.
    const pointers = JSON.stringify(body) === JSON.stringify(wholeBody(order.first)) ? [] : differ;
    return this.#both(order.merchant, 'POST', '/orders', body, () => this.#world.createAgain(order, pointers));
  }

  /** Pending orders, those with a hold if there are any. Most others are refused alike. */
  #amendable(): ModelOrder[] {
    const { orders } = this.#world;
    const pending = orders.filter((order) => statusOf(order) === 'pending');
    const held = pending.filter(({ redemption }) => redemption > 0n);
    return [held, pending].find((found) => found.length > 0) ?? orders;
  }

  #amend(order: ModelOrder, path: string, step: Extract<Step, { do: 'amend' }>): Promise<void> {
    const { shareBps } = order.rules;
    const allowing = shareBps === 0n ? order.total : (order.redemption * 10_000n + shareBps - 1n) / shareBps;
    const asked = step.amount === null ? order.total : amountOf(step.amount, allowing > 0n ? allowing : order.total);
    const cents = asked === 0n ? 1n : asked;
    const kept = total(order.methods.map((method) => method.cents)) > cents ? [] : order.methods;
    const content = {
      total: cents,
      eligible: (cents * BigInt(step.eligiblePercent ?? 100)) / 100n,
      methods: step.split === null ? kept : split(cents, step.split),
    };
    const body = { ...contentBody(content, step.eligiblePercent === null), ...(step.lower && { redeem: 'maximum' }) };
    const version = step.version === null ? undefined : order.version + step.version;
    const headers: Record<string, string> = version === undefined ? {} : { 'if-match': `"${version}"` };
    const model = (): Expected => this.#world.amend(order, content, step.lower, version);
    return this.#both(order.merchant, 'PUT', path, body, model, step.again, undefined, headers);
  }

  #quote({ merchant, customer, ...step }: Extract<Step, { do: 'quote' }>): Promise<void> {
    const cents = BigInt(step.cents);
    const content = {
      total: cents,
      eligible: (cents * BigInt(step.eligiblePercent ?? 100)) / 100n,
      methods: split(cents, step.split),
    };
    const redeem =
      step.redeem === null
        ? undefined
        : amountOf(step.redeem, this.#world.maximumOfQuote(merchant, customer, content).cents);
    const body = {
      ...contentBody(content, step.eligiblePercent === null),
      ...(customer !== null && { document: this.#documents[customer] }),
      ...(redeem !== undefined && { redeem: brl(redeem) }),
    };
    return this.#both(merchant, 'POST', '/quotes', body, () =>
      this.#world.quote(merchant, customer, content, redeem ?? 0n),
    );
  }

  /** Sends a request and compares its response with the model. `again` sends it a second time. */
  async #both(
    merchant: number,
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    body: unknown,
    model: () => Expected,
    again = false,
    newOrder?: string,
    headers: Record<string, string> = {},
  ): Promise<void> {
    for (let time = 0; time < (again ? 2 : 1); time++) {
      const answer = await this.#shop(merchant).send(method, path, body, headers);
      const expected = model();
      this.answers++;
      expect(seen(answer, expected)).toEqual(expected);
      if (newOrder !== undefined && answer.status === 201) this.#ids.set(newOrder, answer.body.id);
    }
  }

  async #see(merchant: number, customer: number): Promise<void> {
    this.#seen.add(`${merchant} ${customer}`);
    await this.#both(merchant, 'POST', '/wallets/search', { document: this.#documents[customer] }, () =>
      this.#world.search(merchant, customer),
    );
  }

  /** Checks that wallets and orders both show the effect of passed dates. */
  async #seeAll(): Promise<void> {
    for (const pair of this.#seen) {
      const [merchant = 0, customer = 0] = pair.split(' ').map(Number);
      await this.#see(merchant, customer);
    }
    for (const order of this.#world.orders.slice(-2)) {
      await this.#both(order.merchant, 'GET', `/orders/${this.#ids.get(order.key)}`, undefined, () =>
        this.#world.look(order),
      );
    }
  }

  /** Expires what is due, in the service and in the model. */
  async #sweep(): Promise<void> {
    await numberEvents(this.service);
    this.#world.sweep();
  }

  #pass(ms: number): void {
    this.clock.skip(ms);
    this.#world.now = this.clock.ms;
  }

  /** Moves the clock to one of the next dates with an effect, or just before or after it. */
  #passTo(which: number, plusMs: number): void {
    const now = this.clock.ms;
    const pairs = Array.from({ length: MERCHANTS * CUSTOMERS }, (_, at) =>
      this.#world.wallet(at % MERCHANTS, Math.floor(at / MERCHANTS)),
    );
    const dates = [
      ...new Set([
        ...pairs.flatMap((wallet) => wallet.dates(now)),
        ...this.#world.orders.map(({ expiresAt }) => expiresAt),
      ]),
    ].filter((date) => date > now + 1);
    const date = dates.sort((a, b) => a - b)[which];
    if (date !== undefined) this.#pass(date + plusMs - now);
  }

  #shop(merchant: number): Shop {
    return this.shops[merchant]!;
  }
}

/** The part of a response that the model predicts. */
function seen({ status, headers, body, isRepeated }: Answer, expected: Expected): Expected {
  const members = Object.keys(expected.body).filter((name) => name !== 'pointers');
  const pointers = 'pointers' in expected.body && { pointers: pointersIn(body) };
  return {
    status,
    // Of a repeated request, an attempt that was answered too late may have created it.
    ...(expected.replayed !== undefined && {
      replayed: (!isRepeated || expected.replayed) && headers.get('idempotency-replayed') === 'true',
    }),
    body: { ...Object.fromEntries(members.map((name) => [name, body[name]])), ...pointers },
  };
}

function pointersIn(body: { errors?: { pointer: string }[] }): string[] {
  return (body.errors ?? []).map(({ pointer }) => pointer);
}

function amountOf(amount: Amount, limit: bigint): bigint {
  if ('cents' in amount) return BigInt(amount.cents);
  const cents = (limit * BigInt(amount.ofLimit)) / 100n + BigInt(amount.plusCents);
  return cents < 0n ? 0n : least(cents, MOST_CENTS);
}

function eligiblePart({ percent, plusCents }: EligiblePart, { from, to }: { from: bigint; to: bigint }): bigint {
  return most(0n, from + ((to - from) * BigInt(percent)) / 100n + BigInt(plusCents));
}

function split(cents: bigint, { parts, overByCents }: Split): Method[] {
  const methods = parts
    .map(({ id, percent }) => ({ id, cents: (cents * BigInt(percent)) / 100n }))
    .filter((method) => method.cents > 0n);
  return overByCents > 0 ? [{ id: 'pix', cents: least(cents + BigInt(overByCents), MOST_CENTS) }] : methods;
}

const sent = (methods: Method[]): { id: string; amount: string }[] =>
  methods.map(({ id, cents }) => ({ id, amount: brl(cents) }));

function createBody(
  order: ModelContent & Pick<ModelOrder, 'externalId' | 'document'>,
  withoutEligible: boolean,
): Record<string, unknown> {
  return {
    external_id: order.externalId,
    document: order.document,
    ...contentBody(order, withoutEligible),
  };
}

function contentBody(content: ModelContent, withoutEligible: boolean): Record<string, unknown> {
  return {
    items: itemsOf(content.total),
    total: brl(content.total),
    ...(!withoutEligible && { eligible_total: brl(content.eligible) }),
    payment_methods: sent(content.methods),
  };
}
