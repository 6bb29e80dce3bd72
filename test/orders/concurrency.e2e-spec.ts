import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aMerchant } from '../support/factories.js';
import { orderRaces } from '../support/races/order-races.js';
import { type Race, Stage } from '../support/races/stage.js';
import { redemptions, walletRaces } from '../support/races/wallet-races.js';
import { startService } from '../support/service.js';

const races = [redemptions(60, 15), ...walletRaces, ...orderRaces] as Race<unknown>[];

describe('concurrent requests to one service', () => {
  let stage: Stage;
  beforeAll(async () => {
    const service = await startService({ env: { LOG_LEVEL: 'error' } });
    stage = new Stage(service, await aMerchant(service));
  });
  afterAll(() => stage.service.stop());

  it.each(races)('$title', async (race) => {
    race.expectFair(await race.run(stage));
    stage.expectNoFailure();
    expect(await stage.discrepancies()).toEqual([]);
    expect(stage.service.logged.filter((line) => line.includes('internal_error'))).toEqual([]);
  });
});
