import { afterAll, beforeAll } from '@jest/globals';
import { aMerchant, type TestMerchant } from './factories.js';
import { type Service, type ServiceOptions, startService } from './service.js';

interface Options extends ServiceOptions {
  /** Creates the merchant, where it is not one with the default policy. */
  merchant?: (service: Service) => Promise<TestMerchant>;
}

/**
 * Starts a service with a merchant before the tests of the file or `describe` that calls it, and stops it after them.
 *
 * @returns objects that are empty until then: use their members inside hooks and tests only.
 */
export function useService({ merchant: create = aMerchant, ...options }: Options = {}): {
  service: Service;
  merchant: TestMerchant;
} {
  const service = {} as Service;
  const merchant = {} as TestMerchant;
  beforeAll(async () => {
    Object.assign(service, await startService(options));
    Object.assign(merchant, await create(service));
  });
  // A service that did not start has nothing to stop.
  afterAll(() => service.stop?.());
  return { service, merchant };
}
