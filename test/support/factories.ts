import { randomInt } from 'node:crypto';
import { GrantsService } from '../../src/cashback/grants.service.js';
import { parseMoney } from '../../src/common/money.js';
import { ApiUsersService } from '../../src/auth/api-users.service.js';
import { MerchantsService } from '../../src/merchants/merchants.service.js';
import type { Policy } from '../../src/merchants/policy.js';
import { Client } from './client.js';
import type { Service } from './service.js';
import { untilAvailable } from './until-available.js';

let counter = 0;
const unique = (): string => `${process.pid}-${++counter}`;

export const PASSWORD = 'correct horse battery';

/** A merchant with a logged-in API user, which has all permissions. */
export interface TestMerchant {
  id: string;
  /** The ID of its API user. */
  userId: string;
  email: string;
  password: string;
  /** The token set of its login. */
  tokens: { access_token: string; access_token_expire_at: string; refresh_token: string };
  /** A client that uses its access token. */
  client: Client;
}

export async function logIn(service: Service, email: string): Promise<TestMerchant['tokens']> {
  const { status, body } = await new Client(service).post('/auth/login', { email, password: PASSWORD });
  if (status !== 201) throw new Error(`the login was answered ${status}: ${JSON.stringify(body)}`);
  return body as TestMerchant['tokens'];
}

export async function aMerchant(service: Service, policy: Partial<Policy> = {}): Promise<TestMerchant> {
  const { id } = await service.app.get(MerchantsService).create(`Shop ${unique()}`, policy);
  const email = `api-${unique()}@shop.example`;
  const user = await service.app.get(ApiUsersService).create(id, email, PASSWORD, true);
  const tokens = await logIn(service, email);
  return { id, userId: user.id, email, password: PASSWORD, tokens, client: new Client(service, tokens.access_token) };
}

/** A customer document that no other test uses. */
export function aDocument(): string {
  return String(randomInt(10 ** 10, 10 ** 11));
}

/** The document of a company, with letters. */
export function aCnpj(): string {
  return (
    randomInt(36 ** 7, 36 ** 8)
      .toString(36)
      .toUpperCase()
      .padStart(12, '0A1B') + String(randomInt(10, 100))
  );
}

/** The request body of an order. Pass only the members that matter for the test. */
export function anOrder(
  members: Record<string, unknown> = {},
): Record<string, unknown> & { external_id: string; document: string } {
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

/** Grants cashback to a customer like the operator does. */
export async function grant(
  service: Service,
  merchant: TestMerchant,
  document: string,
  amount: string,
  options: { availableAt?: Date; expiresAt?: Date } = {},
): Promise<void> {
  const content = { ...options, document, amountCents: parseMoney(amount) };
  await untilAvailable(() => service.app.get(GrantsService).grant(merchant.id, content));
}

/** Creates an order through the API. */
export async function aCreatedOrder(merchant: TestMerchant, members: Record<string, unknown> = {}): Promise<any> {
  const { status, body } = await merchant.client.post('/orders', anOrder(members));
  if (status !== 201) throw new Error(`the order was answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

/** Creates and completes an order through the API. */
export async function aCompletedOrder(
  merchant: TestMerchant,
  members: Record<string, unknown> = {},
  completion: unknown = {},
): Promise<any> {
  const order = await aCreatedOrder(merchant, members);
  const { status, body } = await merchant.client.post(`/orders/${order.id}/complete`, completion);
  if (status !== 200) throw new Error(`the completion was answered ${status}: ${JSON.stringify(body)}`);
  return body;
}
