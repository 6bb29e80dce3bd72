import { randomInt } from 'node:crypto';
import { ApiUsersService } from '../../src/auth/api-users.service.js';
import { DEFAULT_PERMISSIONS, type Permission, PERMISSIONS } from '../../src/platform/values/caller.js';
import { MerchantsService } from '../../src/merchants/merchants.service.js';
import type { Policy } from '../../src/merchants/policy.js';
import { Client } from './client.js';
import type { Service } from './service.js';
import { type Members, type Order, Shop, type Tokens, unique } from './shop.js';
import { untilAvailable } from './until-available.js';

export { aDocument, anOrder, type Shop as TestMerchant } from './shop.js';

export const PASSWORD = 'correct horse battery';

export async function logIn(service: Pick<Service, 'url'>, email: string, password = PASSWORD): Promise<Tokens> {
  const { status, body } = await new Client(service).post<Tokens>('/auth/login', { email, password });
  if (status !== 201) throw new Error(`the login was answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

export async function aMerchant(service: Service, policy: Partial<Policy> = {}): Promise<Shop> {
  const { id } = await service.app.get(MerchantsService).create(`Shop ${unique()}`, policy);
  return aUser(service, id, PERMISSIONS);
}

/** A merchant with another API user, which has only these permissions. */
export async function aUser(
  service: Service,
  merchantId: string,
  permissions: readonly Permission[] = DEFAULT_PERMISSIONS,
  name = `User ${unique()}`,
): Promise<Shop> {
  const email = `api-${unique()}@shop.example`;
  const given = { merchantId, name, email, permissions: [...permissions] };
  const user = await untilAvailable(() => service.app.get(ApiUsersService).create(given, PASSWORD));
  return new Shop(service, merchantId, user.id, name, email, PASSWORD, await logIn(service, email));
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

/** A document as people write it: `529.982.247-25` or `12.345.678/0001-95`. */
export const punctuated = (document: string): string =>
  document.length === 11
    ? document.replace(/(...)(...)(...)(..)/, '$1.$2.$3-$4')
    : document.replace(/(..)(...)(...)(....)(..)/, '$1.$2.$3/$4-$5');

/** Grants cashback to a customer like the operator does. */
export function grant(
  service: Service,
  merchant: Shop,
  document: string,
  amount: string,
  dates: { availableAt?: Date; expiresAt?: Date } = {},
): Promise<void> {
  return merchant.credit(document, amount, dates, service);
}

/** Creates an order through the API. */
export async function aCreatedOrder(merchant: Shop, members: Members = {}): Promise<Order> {
  return merchant.create(members);
}

/** Creates and completes an order through the API. */
export function aCompletedOrder(merchant: Shop, members: Members = {}, completion: unknown = {}): Promise<Order> {
  return merchant.completed(members, completion);
}
