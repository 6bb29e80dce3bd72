import { SequencerService } from '../../../src/events/sequencer.service.js';
import type { Answer } from '../client.js';
import { readFeed } from '../events.js';
import type { Problem } from '../expectations.js';
import { brl, cents } from '../model/values.js';
import { aSandboxMerchant, type SandboxShop } from '../sandbox.js';
import type { Service } from '../service.js';
import type { Credit, Debit, FeedEvent, Order } from '../shop.js';
import { Calendar } from './calendar.js';
import { causeOf, kindOfRefusedDebit, kindsOf, kindsOfDebit, kindsOfRestored, type Sums, Visits } from './coverage.js';
import { says, sumsOf } from './says.js';
import { type Act, ACTS, CUSTOMERS, readStep, type Request, requestOf, type Step } from './steps.js';
import { rowText, type Scenario } from './table.js';

/** What an event of a date has as `by`, also if a request comes before the sweep. */
const OF_DATES = ['order.expired', 'cashback.available', 'cashback.expiring', 'cashback.expired'];

/** What changes rules, not cashback. */
const OF_RULES = new Set<Act>(['campaign', 'change campaign', 'end campaign']);

const MOVE = 'move to ';
const isMove = (step: string): boolean => step.startsWith(MOVE);

const AGAIN = 'again';
const isRepeat = (step: string): boolean => step.startsWith(AGAIN);

interface Sent {
  step: Step;
  request: Request;
}

/** A refund as it was made. */
interface Made {
  id: string;
  kinds: string[];
  /** The debt that it left, in centavos. */
  debt: bigint;
  isUndone: boolean;
}

const NOTHING: Sums = { available: 0n, pending: 0n, held: 0n, debt: 0n };

/** A scenario on a merchant of its own. */
export class Run {
  /** The table, as the service fills it in. */
  readonly rows: string[] = [];
  /** All events, as the feed has them at the end: later changes of an order are in it. */
  feed: FeedEvent[] = [];
  readonly #events: FeedEvent[] = [];
  readonly #ids = new Map<string, string>();
  /** The orders as their last events have them. */
  readonly #orders = new Map<string, Order>();
  /** The new credits that refunds made. */
  readonly #returned = new Map<string, Credit>();
  /** The refunds of each order, oldest first. */
  readonly #refunds = new Map<string, Made[]>();
  /** What each customer has after the last event. */
  readonly #sumsOf = new Map<string, Sums>();
  readonly #frozen = new Set<string>();
  readonly #voidedDebits = new Set<string>();
  readonly #sent = new Map<string, Sent>();
  readonly #calendar: Calendar;
  #now = '';
  #last: Sent | undefined;

  private constructor(
    private readonly service: Service,
    private readonly shop: SandboxShop,
    { policy, begins }: Scenario,
    private readonly visits: Visits,
  ) {
    this.#calendar = new Calendar(policy.time_zone ?? 'America/Sao_Paulo', begins);
  }

  /** Takes the steps of a scenario, and fills in its table. */
  static async of(service: Service, scenario: Scenario, visits: Visits): Promise<Run> {
    const run = new Run(service, await aSandboxMerchant(service, scenario.policy), scenario, visits);
    for (const step of scenario.steps) await (isMove(step) ? run.#move(step) : run.#take(step));
    // What the last request has done although it was refused.
    const late = await run.#newEvents();
    for (const { type } of late) run.rows.push(rowText(['after the last step', type]));
    run.feed = await readFeed(run.shop);
    return run;
  }

  /** Takes the steps of a scenario, and reads the events only at its end. */
  static async eventsOf(service: Service, scenario: Scenario): Promise<FeedEvent[]> {
    const shop = await aSandboxMerchant(service, scenario.policy);
    const run = new Run(service, shop, scenario, new Visits(new Set(), scenario.family));
    for (const step of scenario.steps)
      await (isMove(step) ? run.shop.move({ now: run.#target(step) }) : run.#send(step));
    return run.#newEvents();
  }

  async #take(text: string): Promise<void> {
    const { step, answer, isVoidable } = await this.#send(text);
    const before = this.#orders.get(step.name);
    const { name, act, options } = step;
    const named = CUSTOMERS[name] ?? CUSTOMERS[options.to ?? options.for ?? options.from ?? 'Ana'];
    const customer = before?.document ?? named ?? CUSTOMERS.Ana!;
    const sums = this.#sumsOf.get(customer) ?? NOTHING;
    const isFrozen = this.#frozen.has(customer);
    // What a refused request has done nevertheless would be among the events of the next step.
    const events = answer.status < 300 ? await this.#newEvents() : [];
    await this.#fill(text, events, refusal(answer), customer);
    const isRepeated = isRepeat(text);
    const kinds = await this.#refundKinds(step, before, events, sums);
    this.visits.act(act, isRepeated, before, kinds);
    if (isFrozen) this.visits.frozen(act);
    for (const { type } of events) this.visits.event(type, isRepeated ? 'a repeated request' : causeOf(act));
    this.#compareOperations(step, before, answer);
    if (!OF_RULES.has(act)) this.#compareReplay(answer, events);
    else this.#compareRepeat(answer, isRepeated);
    if (act === 'refund' && events.length > 0) this.#refunded(name, answer, kinds, events);
    if (isVoidable !== undefined) this.#undone(step, answer, events, isVoidable);
    if (act === 'debit') this.#debited(answer, sums, this.#sumsOf.get(customer));
    if (act === 'void debit' && events.length > 0) this.#restored(answer, events, sums, this.#sumsOf.get(customer));
  }

  /** Sends the request of a step, or again the last one, or that of an earlier step. */
  async #send(text: string): Promise<{ step: Step; answer: Answer; isVoidable: boolean | undefined }> {
    if (isRepeat(text)) this.#last = this.#sent.get(text.slice(AGAIN.length + 1)) ?? this.#last;
    else {
      const step = await this.#known(readStep(text));
      this.#last = { step, request: requestOf(step, this.#ids, this.#calendar) };
      this.#sent.set(text, this.#last);
    }
    const { step, request } = this.#last!;
    const isUndoing = ACTS[step.act] === 'void_refund';
    const refund = isUndoing ? await this.shop.readRefund({ order_id: this.#ids.get(step.name)!, id: step.id! }) : null;
    const answer = await this.shop.client.send(request.method, request.path, request);
    const { id } = answer.body;
    // A campaign has only a name.
    const { external_id = step.name } = answer.body as unknown as Order;
    if (answer.status === 201) this.#ids.set(external_id, id);
    return { step, answer, isVoidable: refund?.voidable };
  }

  async #newEvents(): Promise<FeedEvent[]> {
    await this.service.app.get(SequencerService).runFor(this.shop.id);
    return readFeed(this.shop, this.#events.length);
  }

  #target(move: string): string {
    return this.#calendar.instant(move.slice(MOVE.length));
  }

  async #move(text: string): Promise<void> {
    const now = this.#target(text);
    await this.shop.move({ now });
    // The feed has the events of all steps before, so the next ones are those of the move, and of refused requests.
    const events = await readFeed(this.shop, this.#events.length);
    this.#now = now;
    await this.#fill(text, events, '', CUSTOMERS.Ana!);
    for (const { type } of events) this.visits.event(type, 'a date');
  }

  /** Finds out what `the rest` of an order is, as a shop does, and which refund or wallet is meant. */
  async #known(step: Step): Promise<Step> {
    const { act, name } = step;
    if (act === 'freeze' || act === 'unfreeze') return { ...step, id: (await this.shop.wallet(CUSTOMERS[name])).id };
    if (ACTS[act] === 'void_refund') return { ...step, id: this.#meant(act, name) };
    if (act !== 'refund' || step.what !== 'the rest') return step;
    const { total, refunded } = await this.shop.order({ id: this.#ids.get(name)! });
    return { ...step, what: brl(cents(total) - cents(refunded.amount)) };
  }

  /** The latest refund of an order that stands, or that was undone if none stands; or the first one. */
  #meant(act: Act, name: string): string {
    const made = [...this.#refunds.get(name)!].reverse();
    if (act === 'undo first refund of') return made.at(-1)!.id;
    return (made.find(({ isUndone }) => !isUndone) ?? made[0]!).id;
  }

  /**
   * Fills in the rows of a step: one per event, or one that says that there was none.
   *
   * @param customer whose wallet is shown where no event has one
   */
  async #fill(step: string, events: FeedEvent[], refused: string, customer: string): Promise<void> {
    for (const [at, event] of events.entries()) {
      const { type, timestamp, data, by } = event;
      const isOfDate = isMove(step) || OF_DATES.includes(type);
      const author = isOfDate === (by === null) ? '' : `, by ${by === null ? 'nobody' : by.name}`;
      const sums = type === 'order.created' ? await this.#sums(data.order!.document) : sumsOf(data.wallet);
      const cells = [...this.#calendar.at(timestamp), at === 0 ? step : '', type];
      this.rows.push(rowText([...cells, `${says(event, this.#calendar)}${author}`, ...sums]));
      if (data.order !== undefined) this.#orders.set(data.order.external_id, data.order);
      if (type !== 'order.created') this.#compareFrozen(event);
    }
    this.#events.push(...events);
    if (events.length === 0) {
      const [happens, text = ''] = (refused || 'nothing').split(': ');
      const cells = [...this.#calendar.at(this.#now), step, happens!, text];
      this.rows.push(rowText([...cells, ...(await this.#sums(customer))]));
    }
    if (isMove(step)) await this.#compareWallet(events);
  }

  async #sums(document: string): Promise<string[]> {
    return sumsOf(await this.shop.wallet(document));
  }

  /** The last event of a wallet has its sums. */
  async #compareWallet(events: FeedEvent[]): Promise<void> {
    const last = events.at(-1)?.data.wallet;
    const sums = last === undefined ? [] : await this.#sums(last.document);
    if (last !== undefined && rowText(sums) !== rowText(sumsOf(last)))
      this.rows.push(rowText(['', '', '', 'no event', 'the wallet has', ...sums]));
  }

  /** Each event says whether the wallet is frozen. */
  #compareFrozen({ type, data: { wallet } }: FeedEvent): void {
    const { document, frozen, ...sums } = wallet;
    if (type === 'wallet.frozen') this.#frozen.add(document);
    if (type === 'wallet.unfrozen') this.#frozen.delete(document);
    if (frozen !== this.#frozen.has(document)) this.rows.push(rowText([`${type} says that frozen is ${frozen}`]));
    this.#sumsOf.set(document, {
      ...{ available: cents(sums.available), pending: cents(sums.pending) },
      ...{ held: cents(sums.held), debt: cents(sums.debt) },
    });
  }

  /** A request is replayed exactly if it changes nothing. One that the client repeated may have changed it before. */
  #compareReplay({ status, headers, isRepeated }: Answer, events: FeedEvent[]): void {
    if (isRepeated) return;
    const isReplayed = headers.get('idempotency-replayed') === 'true';
    if (status < 300 && isReplayed !== (events.length === 0))
      this.rows.push(rowText([`Idempotency-Replayed is ${isReplayed}, with ${events.length} events`]));
  }

  /** Rules are in no feed, so only a repeated request changes none. */
  #compareRepeat({ status, headers, isRepeated: isUnsure }: Answer, isRepeated: boolean): void {
    const isReplayed = headers.get('idempotency-replayed') === 'true';
    if (!isUnsure && status < 300 && isReplayed !== isRepeated)
      this.rows.push(rowText([`Idempotency-Replayed is ${isReplayed}`]));
  }

  #refunded(name: string, { body }: Answer, kinds: string[], events: FeedEvent[]): void {
    const made = this.#refunds.get(name) ?? [];
    if (made.some(({ isUndone }) => isUndone)) this.visits.undone(['another one follows']);
    const { id } = body as unknown as { id: string };
    const change = changeOfDebt(events);
    this.#refunds.set(name, [...made, { id, kinds, debt: change > 0n ? change : 0n, isUndone: false }]);
  }

  /** A refund says beforehand whether it can be undone. */
  #undone({ name, id }: Step, { status, body }: Answer<Problem>, events: FeedEvent[], isVoidable: boolean): void {
    const made = this.#refunds.get(name)!;
    const refund = made.find((one) => one.id === id)!;
    if (isVoidable !== events.length > 0) this.rows.push(rowText([`the refund said that voidable is ${isVoidable}`]));
    if (status === 409) this.visits.undone([body.obstacle as string]);
    if (events.length === 0) return;
    const isOfAnother = -changeOfDebt(events) > refund.debt;
    this.visits.undone(refund.kinds);
    if (made.at(-1) !== refund) this.visits.undone(['after a later one']);
    if (isOfAnother) this.visits.undone(['repays a debt of another one']);
    refund.isUndone = true;
  }

  #debited({ status, body }: Answer, before: Sums, after = NOTHING): void {
    if (status < 300) this.visits.debit(kindsOfDebit(body as unknown as Debit, before, after));
    else this.visits.debit([kindOfRefusedDebit(before, (body as unknown as { maximum: string }).maximum)]);
  }

  #restored({ body }: Answer, events: FeedEvent[], before: Sums, after = NOTHING): void {
    const debit = body as unknown as Debit;
    const amount = cents(events.at(-1)!.data.amount!);
    this.visits.restored(kindsOfRestored(amount, debit, !this.#voidedDebits.has(debit.id), before, after));
    this.#voidedDebits.add(debit.id);
  }

  async #refundKinds(
    { act, options, name }: Step,
    before: Order | undefined,
    events: FeedEvent[],
    sums: Sums,
  ): Promise<string[]> {
    if (act !== 'refund' || before === undefined || events.length === 0) return [];
    const after = this.#orders.get(name)!;
    const isThisOrder = ({ source }: Credit): boolean => source.return && source.id === after.id;
    const credits = await this.shop.all<Credit>(`/wallets/${events[0]!.data.wallet.id}/credits?limit=100`);
    for (const credit of credits.filter(isThisOrder)) this.#returned.set(credit.id, credit);
    const returned = [...this.#returned.values()].filter(isThisOrder);
    const { cashback_returned, cashback_taken_back } = events.at(-1)!.data.refund!;
    const { available, pending } = this.#sumsOf.get(after.document)!;
    const taken = sums.available + sums.pending + cents(cashback_returned) - available - pending;
    const claimed = cents(cashback_taken_back) - taken - changeOfDebt(events);
    return kindsOf({ options, before, after, returned, events, claimed, now: this.#now });
  }

  /** The operations that an order lists are those that it allows, and no others. */
  #compareOperations({ act }: Step, before: Order | undefined, { status, body }: Answer<Problem>): void {
    const operation = ACTS[act];
    if (before === undefined || operation === undefined || operation === 'sell' || operation === 'void_refund') return;
    const listed: string[] = before.operations;
    const isListed = ['hold', 'renew'].includes(operation)
      ? listed.includes('hold') || listed.includes('renew')
      : listed.includes(operation);
    // Only a member is refused if there are errors.
    const isRefused = status === 409 && body.code === 'invalid_transition' && body.errors === undefined;
    if (isListed && isRefused) this.rows.push(rowText([`${operation} was listed in operations, and is refused`]));
    if (!isListed && status < 300 && before.version !== this.#orders.get(before.external_id)?.version)
      this.rows.push(rowText([`${operation} was not listed in operations, and is done`]));
  }
}

/** By how much events have changed the debt, in centavos. */
const changeOfDebt = (events: FeedEvent[]): bigint =>
  events.reduce((sum, { data }) => sum + (data.change === undefined ? 0n : cents(data.change)), 0n);

/** A refusal with the figures that it names. */
function refusal({ status, body }: Answer): string {
  if (status < 300) return '';
  const { code, lapsed, minimum, maximum, limited_by, obstacle } = body as unknown as Record<
    string,
    string | undefined
  >;
  const figures = [
    ...(lapsed === undefined ? [] : [`lapsed ${lapsed}`]),
    ...(minimum === undefined ? [] : [`minimum ${minimum}`]),
    ...(maximum === undefined ? [] : [`maximum ${maximum}`]),
    ...(obstacle === undefined ? [] : [obstacle]),
  ];
  const limit = limited_by ? ` (${limited_by})` : '';
  return `${status} ${code}: ${figures.join(', ')}${limit}`;
}

/** The events of a merchant, with its IDs replaced by the order in which they occur. */
export function withoutIds(events: FeedEvent[]): unknown {
  const ids = new Map<string, number>();
  const text = JSON.stringify(events).replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, (id) => {
    if (!ids.has(id)) ids.set(id, ids.size);
    return `ID ${ids.get(id)}`;
  });
  return JSON.parse(text);
}
