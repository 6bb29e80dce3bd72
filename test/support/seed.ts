import { randomUUID } from 'node:crypto';
import { OPERATOR, PERMISSIONS } from '../../src/platform/values/caller.js';
import bcrypt from 'bcrypt';
import type { DataSource } from 'typeorm';
import { ApiUser } from '../../src/auth/api-user.entity.js';
import { EventFeed } from '../../src/merchants/merchant.entity.js';
import { Merchant, newPositions, PolicyBase, SumPosition } from '../../src/merchants/merchant.entity.js';
import { DEFAULT_POLICY } from '../../src/merchants/policy.js';
import { PASSWORD } from './factories.js';

/**
 * Writes a merchant and its API user directly to a database, for services that run as a separate process and cannot be
 * reached from inside.
 *
 * @returns the email of the user, which has all permissions; the password is PASSWORD
 */
export async function seedMerchant(dataSource: DataSource): Promise<string> {
  const merchantId = randomUUID();
  const email = `${merchantId}@shop.example`;
  const createdAt = new Date();
  await dataSource.initialize();
  try {
    await dataSource.manager.insert(Merchant, { id: merchantId, name: 'Shop', policy: DEFAULT_POLICY, createdAt });
    const base = {
      merchantId,
      version: 1,
      policy: DEFAULT_POLICY,
      storedAt: createdAt,
      storedBy: OPERATOR,
      reason: null,
    };
    await dataSource.manager.insert(PolicyBase, base);
    const feed = { merchantId, lastSequence: 0, oldestSequence: 1, keptSince: createdAt };
    await dataSource.manager.insert(EventFeed, feed);
    await dataSource.manager.insert(SumPosition, newPositions(merchantId, createdAt));
    await dataSource.manager.insert(ApiUser, {
      id: randomUUID(),
      merchantId,
      email,
      passwordHash: await bcrypt.hash(PASSWORD, 4),
      name: 'Seed',
      permissions: [...PERMISSIONS],
      lastLoginAt: null,
      disabledAt: null,
      createdAt,
    });
  } finally {
    await dataSource.destroy();
  }
  return email;
}
