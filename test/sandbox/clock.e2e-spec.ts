import { describe, expect, it } from '@jest/globals';
import { aDocument } from '../support/factories.js';
import { findingsOf } from '../support/expectations.js';
import { aSandboxMerchant, SANDBOX } from '../support/sandbox.js';
import { useService } from '../support/use-service.js';

describe('the clock of a merchant of a sandbox', () => {
  const { service } = useService({ env: SANDBOX });

  it('runs until the first move, and then stands still', async () => {
    const shop = await aSandboxMerchant(service);
    const before = Date.now();
    const running = await shop.get<{ now: string; frozen: boolean; moving: boolean }>('/sandbox/clock');
    expect(running).toEqual({ now: expect.any(String), frozen: false, moving: false });
    expect(Date.parse(running.now)).toBeGreaterThanOrEqual(before);
    const now = new Date(Date.now() + 3_600_000).toISOString();
    expect(await shop.move({ now })).toEqual({ now, done: true, first_sequence: null, last_sequence: null });
    expect(await shop.get('/sandbox/clock')).toEqual({ now, frozen: true, moving: false });
    expect(await shop.create()).toMatchObject({ created_at: now });
    expect(await shop.create()).toMatchObject({ created_at: now });
  });

  it('a year: what is due happens at its date, in order, and the answer names its events', async () => {
    const shop = await aSandboxMerchant(service, { release_days: 8, validity_days: 30 });
    const document = aDocument();
    await shop.move({ on: '2027-01-04' });
    const order = await shop.completed({ document });
    const left = await shop.create({ document });
    const events = await shop.eventsUntil({ on: '2028-01-04' });
    expect(events.map(({ type, timestamp, data }) => [type, timestamp, data.wallet?.available])).toEqual([
      ['order.expired', '2027-01-04T03:30:00.000Z', '0.00'],
      ['cashback.available', '2027-01-12T03:00:00.000Z', '7.50'],
      ['cashback.expiring', '2027-02-04T04:00:00.000Z', '7.50'],
      ['cashback.expired', '2027-02-11T03:00:00.000Z', '0.00'],
    ]);
    expect(await shop.order(left)).toMatchObject({ status: 'expired' });
    expect(await shop.order(order)).toMatchObject({ status: 'completed', completed_at: '2027-01-04T03:00:00.000Z' });
    expect(await findingsOf(service)).toEqual([]);
  });
});
