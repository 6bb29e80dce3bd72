import { beforeAll } from '@jest/globals';
import type { TestMerchant } from './factories.js';
import { startedLater } from './use-service.js';

/** Creates a merchant before the tests of the calling `describe`, in a service that several of them share. */
export function useMerchant(create: () => Promise<TestMerchant>): TestMerchant {
  const merchant = startedLater<TestMerchant>('the merchant');
  beforeAll(async () => void merchant.set(await create()));
  return merchant.object;
}
