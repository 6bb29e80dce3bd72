import { afterAll, beforeAll } from '@jest/globals';
import { aMerchant, type TestMerchant } from './factories.js';
import { type Service, type ServiceOptions, startService } from './service.js';

interface Options extends ServiceOptions {
  /** Creates the merchant. The default is a merchant with the default policy. */
  merchant?: (service: Service) => Promise<TestMerchant>;
}

/**
 * Starts a service with a merchant before the tests of the calling file or `describe`, and stops it after them.
 *
 * @returns objects that are empty until then, so use their members only in hooks and tests
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
  // If the service did not start, there is nothing to stop.
  afterAll(() => service.stop?.());
  return { service, merchant };
}
