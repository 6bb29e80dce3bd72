import { SequencerService } from '../../../src/events/sequencer.service.js';
import type { Answer } from '../client.js';
import { readFeed } from '../events.js';
import type { Problem } from '../expectations.js';
import { brl, cents } from '../model/values.js';
import { aSandboxMerchant, type SandboxShop } from '../sandbox.js';
import type { Service } from '../service.js';
import type { Credit, FeedEvent, Order } from '../shop.js';
import { Calendar } from './calendar.js';
import { causeOf, kindsOf, Visits } from './coverage.js';
import { says, sumsOf } from './says.js';
import { ACTS, CUSTOMERS, readStep, type Request, requestOf, type Step } from './steps.js';
import { rowText, type Scenario } from './table.js';

/** What an event of a date has as `by`, also if a request comes before the sweep. */
const OF_DATES = ['order.expired', 'cashback.available', 'cashback.expiring', 'cashback.expired'];

const MOVE = 'move to ';
const isMove = (step: string): boolean => step.startsWith(MOVE);

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
  readonly #calendar: Calendar;
  #now = '';
  #last: { step: Step; request: Request } | undefined;

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
    const { step, answer } = await this.#send(text);
    const before = this.#orders.get(step.name);
    // What a refused request has done nevertheless would be among the events of the next step.
    const events = answer.status < 300 ? await this.#newEvents() : [];
    const customer = before?.document ?? CUSTOMERS[step.options.to ?? step.options.for ?? 'Ana']!;
    await this.#fill(text, events, refusal(answer), customer);
    const isRepeated = text === 'again';
    this.visits.act(step.act, isRepeated, before, await this.#refundKinds(step, before, events));
    for (const { type } of events) this.visits.event(type, isRepeated ? 'a repeated request' : causeOf(step.act));
    this.#compareOperations(step, before, answer);
  }

  /** Sends the request of a step, or the last one again. */
  async #send(text: string): Promise<{ step: Step; answer: Answer }> {
    if (text !== 'again') {
      const step = await this.#quoted(readStep(text));
      this.#last = { step, request: requestOf(step, this.#ids, this.#calendar) };
    }
    const { step, request } = this.#last!;
    const answer = await this.shop.client.send(request.method, request.path, request);
    const { id, external_id } = answer.body as unknown as Order;
    if (answer.status === 201) this.#ids.set(external_id, id);
    return { step, answer };
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

  /** Finds out what `the rest` of an order is, as a shop does. */
  async #quoted(step: Step): Promise<Step> {
    if (step.act !== 'refund' || step.what !== 'the rest') return step;
    const { total, refunded } = await this.shop.order({ id: this.#ids.get(step.name)! });
    return { ...step, what: brl(cents(total) - cents(refunded.amount)) };
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

  async #refundKinds({ act, options, name }: Step, before: Order | undefined, events: FeedEvent[]): Promise<string[]> {
    if (act !== 'refund' || before === undefined || events.length === 0) return [];
    const after = this.#orders.get(name)!;
    const isThisOrder = ({ source }: Credit): boolean => source.return && source.id === after.id;
    const credits = await this.shop.all<Credit>(`/wallets/${events[0]!.data.wallet.id}/credits?limit=100`);
    for (const credit of credits.filter(isThisOrder)) this.#returned.set(credit.id, credit);
    const returned = [...this.#returned.values()].filter(isThisOrder);
    return kindsOf({ options, before, after, returned, events, now: this.#now });
  }

  /** The operations that an order lists are those that it allows, and no others. */
  #compareOperations({ act }: Step, before: Order | undefined, { status, body }: Answer<Problem>): void {
    const operation = ACTS[act];
    if (before === undefined || operation === undefined) return;
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

/** A refusal with the figures that it names. */
function refusal({ status, body }: Answer): string {
  if (status < 300) return '';
  const { code, lapsed, minimum, maximum, limited_by } = body as unknown as Record<string, string | undefined>;
  const figures = [
    ...(lapsed === undefined ? [] : [`lapsed ${lapsed}`]),
    ...(minimum === undefined ? [] : [`minimum ${minimum}`]),
    ...(maximum === undefined ? [] : [`maximum ${maximum}`]),
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
