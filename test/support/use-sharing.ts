import { afterAll, beforeAll } from '@jest/globals';
import type { DataSource } from 'typeorm';
import { createDataSource } from '../../src/schema.js';
import { aMerchant, type TestMerchant } from './factories.js';
import { startedLater, useService } from './use-service.js';

/** What the tests of requests that share statements and transactions use. */
interface Sharing extends ReturnType<typeof useService> {
  /** Connections of the operator. */
  operator: DataSource;
  other: TestMerchant;
  /** Reads the number of statements or transactions of a kind, and of the requests that they served. */
  shared: (kind: string) => Promise<{ count: number; requests: number }>;
}

/** Like `useService`, with another merchant and enough connections for requests to share. */
export function useSharing(isShared: boolean): Sharing {
  const { service, merchant } = useService({ env: { BATCH: String(isShared), DATABASE_POOL_SIZE: '10' } });
  const operator = startedLater<DataSource>('the data source of the operator');
  const other = startedLater<TestMerchant>('the other merchant');
  beforeAll(async () => {
    operator.set(await createDataSource(service.databaseUrl).initialize());
    other.set(await aMerchant(service));
  });
  afterAll(() => operator.get()?.destroy());
  const shared = async (kind: string): Promise<{ count: number; requests: number }> => {
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    const read = (name: string): number =>
      Number(new RegExp(`^database_batch_keys_${name}\\{kind="${kind}"\\} (\\d+)$`, 'm').exec(metrics)?.[1] ?? 0);
    return { count: read('count'), requests: read('sum') };
  };
  return { service, merchant, operator: operator.object, other: other.object, shared };
}
