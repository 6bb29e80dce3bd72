import { randomInt } from 'node:crypto';
import { expect } from '@jest/globals';
import { GrantsService } from '../../src/cashback/grants.service.js';
import { OPERATOR } from '../../src/platform/values/caller.js';
import { parseMoney } from '../../src/platform/values/money.js';
import type { Policy } from '../../src/merchants/policy.js';
import type { PolicyChanges, RequestedCampaign } from '../../src/merchants/campaign.entity.js';
import { CampaignsService, withRates } from '../../src/merchants/campaigns.service.js';
import { MerchantsService } from '../../src/merchants/merchants.service.js';
import type {
  CashbackAvailableData,
  CashbackExpiringData,
  CustomerChangedData,
  DebitData,
  DebtChangedData,
  EventDto,
  GrantData,
  OrderRefundedData,
} from '../../src/events/event.dto.js';
import type { OrderDto } from '../../src/orders/order.dto.js';
import type { TimelineLineDto } from '../../src/orders/timeline.dto.js';
import type { CampaignDto } from '../../src/merchants/campaign.dto.js';
import type { CurrentPolicyDto } from '../../src/merchants/policy.dto.js';
import type { QuoteDto } from '../../src/orders/quote.dto.js';
import type { CustomerChangeDto } from '../../src/orders/customer-change.dto.js';
import type { RefundDto, RefundQuoteDto } from '../../src/orders/refund.dto.js';
import { ErasureService } from '../../src/orders/erasure.service.js';
import type { CreditDto, CustomerCreditDto } from '../../src/cashback/credit.dto.js';
import type { CustomerDto } from '../../src/cashback/wallet.dto.js';
import type { DebitDto } from '../../src/cashback/debit.dto.js';
import type { GrantDto } from '../../src/cashback/grant.dto.js';
import type { EntryDto, WalletDto } from '../../src/cashback/wallet.dto.js';
import type { WebhookEndpointDto, WebhookEndpointWithSecretDto } from '../../src/events/webhook-endpoint.dto.js';
import { type Answer, atOnce, Client, type RequestOptions } from './client.js';
import { expectProblem, pointersOf, type Problem } from './expectations.js';
import type { Service } from './service.js';
import { untilAvailable } from './until-available.js';

/** The JSON of a DTO, in which instants are text. */
export type Json<T> = T extends Date ? string : T extends object ? { [Member in keyof T]: Json<T[Member]> } : T;

export type Order = Json<OrderDto>;
export type Refund = Json<RefundDto>;
export type RefundQuote = Json<RefundQuoteDto>;
export type TimelineLine = Json<TimelineLineDto>;
export type CustomerChange = Json<CustomerChangeDto>;
export type Quote = Json<QuoteDto>;
export type PolicyRules = Json<CurrentPolicyDto>;
/** The ID is null before the customer gets the first cashback. */
export type Wallet = Json<WalletDto> & { id: string };
export type Entry = Json<EntryDto>;
export type Credit = Json<CreditDto>;
export type CustomerCredit = Json<CustomerCreditDto>;
export type Customer = Json<CustomerDto>;
export type Grant = Json<GrantDto>;
/** What came of one grant of a batch. */
export interface GrantResult {
  status: number;
  grant: Grant | null;
  problem: Problem | null;
}
export type Debit = Json<DebitDto>;
/** The members of all types of events. */
export type FeedEvent = Omit<Json<EventDto>, 'data'> & {
  data: Json<
    Partial<
      OrderRefundedData &
        CustomerChangedData &
        GrantData &
        DebitData &
        CashbackAvailableData &
        CashbackExpiringData &
        DebtChangedData
    >
  > & {
    /** Only `order.created` has none. */
    wallet: Json<OrderRefundedData['wallet']>;
  };
};
export type CampaignOfShop = Json<CampaignDto>;
export type Endpoint = Json<WebhookEndpointDto>;
export type EndpointWithSecret = Json<WebhookEndpointWithSecretDto>;

/** The customer of an event. That of a creation says nothing of the wallet. */
export const documentOf = ({ type, data }: FeedEvent): string | null | undefined =>
  type === 'order.created' ? data.order?.document : data.wallet.document;

export interface EventPage {
  data: FeedEvent[];
  next_after: number;
  has_more: boolean;
}

export const idsOf = ({ data }: { data: { id: string }[] }): string[] => data.map(({ id }) => id);

export interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

/** The members of a request body. They can be invalid. */
export type Members = Record<string, unknown>;

let counter = 0;
export const unique = (): string => `${process.pid}-${++counter}`;

/** A customer document that no other test uses. */
export function aDocument(): string {
  return String(randomInt(10 ** 10, 10 ** 11));
}

/** The request body of an order. Pass only the members that matter for the test. */
export function anOrder(members: Members = {}): Members & { external_id: string; document: string } {
  const total = (members.total as string | undefined) ?? '150.00';
  return {
    external_id: `PED-${unique()}`,
    items: [{ id: 'sku-1', price: total, description: 'Café em grãos' }],
    document: aDocument(),
    total,
    payment_methods: [{ id: 'credit_card', amount: total }],
    ...members,
  };
}

/** The request body of a campaign of 10 %. Pass its days, and what matters for the test. */
export const aCampaign = (members: Members): Members => ({
  ...{ name: 'Weekend', rules: { earn_rate: '0.10' } },
  ...members,
});

/** The request body of an amendment. Pass only the members that matter for the test. */
export function aCart(total: string, members: Members = {}): Members {
  return {
    total,
    items: [{ id: 'sku-2', price: total }],
    payment_methods: [{ id: 'credit_card', amount: total }],
    ...members,
  };
}

/**
 * A request that was sent. `await` returns the body, and fails if the request was refused. What a test expects
 * otherwise is a method: `await shop.cancel(order).refused(409, 'invalid_transition')`.
 */
export class Call<T> implements PromiseLike<T> {
  /** @param status of the success; any, if it is left out */
  constructor(
    readonly answer: Promise<Answer<T>>,
    private readonly status?: number,
  ) {}

  then<R = T, E = never>(
    resolved?: ((body: T) => R | PromiseLike<R>) | null,
    rejected?: ((reason: unknown) => E | PromiseLike<E>) | null,
  ): Promise<R | E> {
    return this.#body().then(resolved, rejected);
  }

  /** Expects a problem. @param expected its members, or the sorted pointers of its errors */
  async refused(status: number, code: string, expected: object | readonly string[] = {}): Promise<Problem> {
    const problem = expectProblem(await this.answer, status, code);
    if (Array.isArray(expected)) expect(pointersOf(problem)).toEqual(expected);
    else expect(problem).toMatchObject(expected);
    return problem;
  }

  /** Expects the success of a request that was already done. @returns the body. */
  async replayed(): Promise<T> {
    const { status, headers, body } = await this.answer;
    expect({ status, replayed: headers.get('idempotency-replayed'), body }).toMatchObject({
      status: this.status ?? 201,
      replayed: 'true',
    });
    return body;
  }

  /** Expects a success that says that it changed something. @returns the body. */
  async changed(): Promise<T> {
    const { status, headers, isRepeated } = await this.answer;
    expect({ status, replayed: isRepeated ? null : headers.get('idempotency-replayed') }).toEqual({
      ...{ status: this.status ?? status, replayed: null },
    });
    return this.#body();
  }

  async #body(): Promise<T> {
    const { status, body } = await this.answer;
    if (this.status === undefined ? status >= 200 && status < 300 : status === this.status) return body;
    throw new Error(`the request was answered ${status}: ${JSON.stringify(body)}`);
  }
}

/** Sends `times` requests at once. Expects that exactly one succeeds, and problems of the others. */
export async function oneAtOnce<T>(
  times: number,
  send: (index: number) => Call<T>,
  status: number,
  problem: { code: string; [member: string]: unknown },
): Promise<T> {
  const answers = await atOnce(times, (index) => send(index).answer);
  const [first, ...others] = answers.filter((answer) => answer.status < 300);
  expect({ first, others }).toEqual({ first: expect.any(Object), others: [] });
  for (const answer of answers)
    if (answer !== first) expect(expectProblem(answer, status, problem.code)).toMatchObject(problem);
  return first!.body;
}

export interface Tokens {
  access_token: string;
  access_token_expire_at: string;
  refresh_token: string;
}

interface Dates {
  availableAt?: Date;
  expiresAt?: Date;
}

interface Identified {
  id: string;
}

/** A merchant with a logged-in API user, which has all permissions, and every request that it sends. */
export class Shop {
  /** @param userId the ID of its API user @param name that of the user @param tokens the token set of its login */
  constructor(
    private readonly service: Service,
    readonly id: string,
    readonly userId: string,
    readonly name: string,
    readonly email: string,
    readonly password: string,
    readonly tokens: Tokens,
    public client: Client = new Client(service, tokens.access_token),
  ) {}

  /** Its API user, as responses name it. */
  get by(): { user_id: string; name: string } {
    return { user_id: this.userId, name: this.name };
  }

  /** The same shop with another client, for example of another instance. */
  with(client: Client, tokens = this.tokens): Shop {
    return new Shop(this.service, this.id, this.userId, this.name, this.email, this.password, tokens, client);
  }

  send<T>(method: string, path: string, options?: RequestOptions, status?: number): Call<T> {
    return new Call(this.client.send(method, path, options), status);
  }

  get<T = unknown>(path: string, options?: RequestOptions): Call<T> {
    return this.send('GET', path, options);
  }

  post<T = unknown>(path: string, body?: unknown, options?: RequestOptions): Call<T> {
    return this.send('POST', path, { body, ...options });
  }

  put<T = unknown>(path: string, body?: unknown, options?: RequestOptions): Call<T> {
    return this.send('PUT', path, { body, ...options });
  }

  /** All elements of a list. @param path with a query */
  async all<T>(path: string): Promise<T[]> {
    return (await this.client.pages<T>(path)).flatMap(({ data }) => data);
  }

  policy(): Call<PolicyRules> {
    return this.send('GET', '/policy', {}, 200);
  }

  /** Changes the policy as the operator does. */
  async setPolicy(policy: Partial<Policy>): Promise<void> {
    await this.service.app.get(MerchantsService).set(this.id, { policy });
  }

  /** Stores rules for some days as the operator does, or removes them. */
  async setVersion(days: Pick<RequestedCampaign, 'fromDay' | 'throughDay'>, changes?: PolicyChanges): Promise<void> {
    const campaigns = this.service.app.get(CampaignsService);
    const { fromDay, throughDay } = days;
    const known = await this.service.dataSource.query<{ id: string }[]>(
      'SELECT DISTINCT id FROM policy_versions WHERE merchant_id = ? AND from_day = ? AND through_day = ? AND ended_at IS NULL',
      [this.id, fromDay, throughDay],
    );
    const id = known[0]?.id ?? '';
    const asked = { ...days, name: `${fromDay} to ${throughDay}`, changes: withRates(changes ?? {}) };
    if (changes === undefined) await campaigns.end(this.id, id, OPERATOR).catch(() => campaigns.remove(this.id, id));
    else if (id !== '') await campaigns.update(this.id, id, asked, OPERATOR);
    else await campaigns.create(this.id, asked, OPERATOR);
  }

  /** Changes the rules as a user with the permission `rules` does. */
  changePolicy(rules: Members, options?: RequestOptions): Call<PolicyRules> {
    return this.send('PATCH', '/policy', { body: { reason: 'Christmas', ...rules }, ...options }, 200);
  }

  /** Makes a campaign of 10 %. Pass the members that matter for the test. */
  campaign(members: Members): Call<CampaignOfShop> {
    return this.send('POST', '/campaigns', { body: aCampaign(members) }, 201);
  }

  changeCampaign({ id }: Identified, members: Members): Call<CampaignOfShop> {
    return this.send('PUT', `/campaigns/${id}`, { body: aCampaign(members) }, 200);
  }

  readCampaign({ id }: Identified): Call<CampaignOfShop> {
    return this.send('GET', `/campaigns/${id}`, {}, 200);
  }

  endCampaign({ id }: Identified): Call<CampaignOfShop> {
    return this.send('POST', `/campaigns/${id}/end`, {}, 200);
  }

  deleteCampaign({ id }: Identified): Call<void> {
    return this.send('DELETE', `/campaigns/${id}`, {}, 204);
  }

  quote(body: unknown): Call<Quote> {
    return this.send('POST', '/quotes', { body }, 200);
  }

  /** Creates an order of 150.00. Pass the members that matter for the test, or a whole body to send it again. */
  create(members: Members = {}, options?: RequestOptions): Call<Order> {
    return this.send('POST', '/orders', { body: anOrder(members), ...options }, 201);
  }

  amend({ id }: Identified, body: unknown, options?: RequestOptions): Call<Order> {
    return this.send('PUT', `/orders/${id}`, { body, ...options }, 200);
  }

  hold({ id }: Identified, amount: unknown, expires_at?: unknown, options?: RequestOptions): Call<Order> {
    return this.send('PUT', `/orders/${id}/redemption`, { body: { amount, expires_at }, ...options }, 200);
  }

  complete({ id }: Identified, body?: unknown, options?: RequestOptions): Call<Order> {
    return this.send('POST', `/orders/${id}/complete`, { body, ...options }, 200);
  }

  /** @param options the body, if it matters, and headers */
  cancel({ id }: Identified, options?: RequestOptions): Call<Order> {
    return this.send('POST', `/orders/${id}/cancel`, options, 200);
  }

  /** @param members those that matter for the test */
  refund({ id }: Identified, amount: unknown, members: Members = {}, options?: RequestOptions): Call<Refund> {
    const body = { external_id: `DEV-${unique()}`, amount, ...members };
    return this.send('POST', `/orders/${id}/refunds`, { body, ...options }, 201);
  }

  /** Creates an order and completes it. */
  async completed(members: Members = {}, completion: unknown = {}): Promise<Order> {
    return this.complete(await this.create(members), completion);
  }

  /** Creates and completes an order of 150.00 in one request. */
  sell(members: Members = {}, complete: unknown = {}, options?: RequestOptions): Call<Order> {
    return this.create({ ...members, complete }, options);
  }

  /** Undoes a refund. */
  voidRefund(
    { order_id, id }: Pick<Refund, 'order_id' | 'id'>,
    body?: unknown,
    options?: RequestOptions,
  ): Call<Refund> {
    return this.send('POST', `/orders/${order_id}/refunds/${id}/void`, { body, ...options }, 200);
  }

  readRefund({ order_id, id }: Pick<Refund, 'order_id' | 'id'>): Call<Refund> {
    return this.send('GET', `/orders/${order_id}/refunds/${id}`, {}, 200);
  }

  /** Corrects the customer of a completed order. */
  changeCustomer({ id }: Identified, document: unknown, options?: RequestOptions): Call<CustomerChange> {
    const body = { document, reason: 'Typed wrongly at the till' };
    return this.send('PUT', `/orders/${id}/customer`, { body, ...options }, 200);
  }

  /** @param members those that matter for the test */
  quoteRefund({ id }: Identified, amount: unknown, members: Members = {}): Call<RefundQuote> {
    return this.send('POST', `/orders/${id}/refunds/quote`, { body: { amount, ...members } }, 200);
  }

  order({ id }: Identified): Call<Order> {
    return this.send('GET', `/orders/${id}`, {}, 200);
  }

  orderByExternalId(externalId: string): Call<Order> {
    return this.send('GET', `/orders/by-external-id/${encodeURIComponent(externalId)}`, {}, 200);
  }

  /** @param query such as `status=pending&limit=1` */
  orders(query = ''): Call<Page<Order>> {
    return this.send('GET', `/orders${query && `?${query}`}`, {}, 200);
  }

  timeline({ id }: Identified, query = ''): Call<Page<TimelineLine>> {
    return this.send('GET', `/orders/${id}/timeline${query && `?${query}`}`, {}, 200);
  }

  searchOrders(body: unknown): Call<Page<Order>> {
    return this.send('POST', '/orders/search', { body }, 200);
  }

  refunds({ id }: Identified, query = ''): Call<Page<Refund>> {
    return this.send('GET', `/orders/${id}/refunds${query && `?${query}`}`, {}, 200);
  }

  /** The wallet of a customer. */
  wallet(document: unknown): Call<Wallet> {
    return this.send('POST', '/wallets/search', { body: { document } }, 200);
  }

  entries({ id }: Identified, query = ''): Call<Page<Entry>> {
    return this.send('GET', `/wallets/${id}/entries${query && `?${query}`}`, {}, 200);
  }

  credits({ id }: Identified, query = ''): Call<Page<Credit>> {
    return this.send('GET', `/wallets/${id}/credits${query && `?${query}`}`, {}, 200);
  }

  /** All entries of a customer, oldest first. */
  async statement(document: string): Promise<Entry[]> {
    const { id } = await this.wallet(document);
    return (await this.all<Entry>(`/wallets/${id}/entries?limit=100`)).reverse();
  }

  /** All entries of a customer in short form, such as `earn 7.50`, oldest first. */
  async movements(document: string): Promise<string[]> {
    return (await this.statement(document)).map(({ kind, amount }) => `${kind} ${amount}`);
  }

  /** Grants 50.00. Pass the members that matter for the test, or a whole body to send it again. */
  grant(members: Members = {}): Call<Grant> {
    const body = { external_id: `SORRY-${unique()}`, document: aDocument(), amount: '50.00', ...members };
    return this.send('POST', '/grants', { body }, 201);
  }

  /** Makes grants, each on its own. */
  grantEach(data: readonly unknown[]): Call<{ data: GrantResult[] }> {
    return this.send('POST', '/grants/batch', { body: { data } }, 200);
  }

  /** Debits 20.00 of a customer. Pass the members that matter for the test, or a whole body to send it again. */
  debit(members: Members): Call<Debit> {
    const body = { external_id: `FIX-${unique()}`, amount: '20.00', reason: 'Granted twice', ...members };
    return this.send('POST', '/debits', { body }, 201);
  }

  readDebit({ id }: Identified): Call<Debit> {
    return this.send('GET', `/debits/${id}`, {}, 200);
  }

  voidDebit({ id }: Identified, body?: unknown): Call<Debit> {
    return this.send('POST', `/debits/${id}/void`, { body }, 200);
  }

  /** Freezes a wallet, or unfreezes it. */
  freeze({ id }: Identified, frozen: unknown = true, reason: unknown = 'Stolen account'): Call<Wallet> {
    return this.send('PUT', `/wallets/${id}/freeze`, { body: { frozen, reason } }, 200);
  }

  readGrant({ id }: Identified): Call<Grant> {
    return this.send('GET', `/grants/${id}`, {}, 200);
  }

  voidGrant({ id }: Identified, body?: unknown): Call<Grant> {
    return this.send('POST', `/grants/${id}/void`, { body }, 200);
  }

  /** Grants cashback with exact instants, as the operator can. @param service the instance that does it */
  async credit(document: string, amount: string, dates: Dates = {}, service = this.service): Promise<void> {
    const content = { ...dates, document, amountCents: parseMoney(amount) };
    await untilAvailable(() => service.app.get(GrantsService).grant(this.id, content));
  }

  /** Credits a new customer. @returns the document. */
  async customerWith(amount: string, dates?: Dates): Promise<string> {
    const document = aDocument();
    await this.credit(document, amount, dates);
    return document;
  }

  /** Creates an order of 150.00 of a new customer who has a balance. */
  async orderWith(balance: string, members: Members = {}, dates?: Dates): Promise<Order> {
    return this.create({ document: await this.customerWith(balance, dates), ...members });
  }

  /** Creates an order of 150.00 of a new customer who has 80.00, and holds an amount for it. */
  async orderThatHolds(amount: string, members: Members = {}): Promise<Order> {
    return this.hold(await this.orderWith('80.00', members), amount);
  }

  /** Erases a customer as the operator does. */
  erase(document: string): ReturnType<ErasureService['erase']> {
    return this.service.app.get(ErasureService).erase(this.id, document);
  }
}
