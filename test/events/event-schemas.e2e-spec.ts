import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { FEED_EVENT_TYPES } from '../../src/platform/values/domain-event.js';
import { DAY_MS } from '../../src/platform/values/time.js';
import { Contract, type OpenApi } from '../support/contract.js';
import { eventsOf, numberEvents } from '../support/events.js';
import { aDocument } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService({
  env: { EVENT_RETENTION_DAYS: '3650' },
  merchant: (started) => aLongLivedMerchant(started, { redeemShareBps: 10_000, releaseDays: 2, validityDays: 20 }),
});

/** Makes an event of each type. */
async function makeEvents(): Promise<void> {
  // The announcements of dates begin with the first sweep.
  await numberEvents(service);
  const order = await merchant.orderWith('80.00');
  await merchant.hold(order, '20.00');
  await merchant.amend(order, { items: order.items, total: '140.00', payment_methods: [] });
  await merchant.hold(order, '0.00');
  service.clock.skip(30 * 60_000);
  await numberEvents(service);
  await merchant.hold(order, '0.00', new Date(+service.clock.now() + 3_600_000).toISOString());
  await merchant.complete(order, {});
  await merchant.put(`/orders/${order.id}/customer`, { document: aDocument(), reason: 'Typed wrongly' });
  await merchant.voidRefund(await merchant.refund(order, '40.00'), { reason: 'Wrong order' });
  await merchant.cancel(await merchant.create());
  await merchant.voidGrant(await merchant.grant());
  const document = aDocument();
  await merchant.grant({ document, amount: '1.00' });
  await merchant.voidDebit(await merchant.debit({ document, amount: '1.00' }));
  const wallet = await merchant.wallet(document);
  for (const frozen of [true, false]) await merchant.freeze(wallet, frozen);
  const earning = await merchant.completed({ document, total: '200.00' });
  await merchant.completed({ document: aDocument() });
  service.clock.skip(3 * DAY_MS);
  await numberEvents(service);
  await merchant.completed({ document, total: '10.00' }, { redeem: '10.00' });
  await merchant.refund(earning, '200.00');
  for (const days of [13, 10]) {
    service.clock.skip(days * DAY_MS);
    await numberEvents(service);
  }
}

describe('the schemas of events', () => {
  it('each event is valid against the schema of its type and no other, and each type occurs', async () => {
    await makeEvents();
    const events = await eventsOf(service, merchant);
    const document = JSON.parse(readFileSync('dist/openapi.json', 'utf8')) as OpenApi;
    const contract = new Contract(document);
    const { oneOf, discriminator } = document.components.schemas.EventDto!;
    const { propertyName, mapping } = discriminator!;
    expect(propertyName).toBe('type');
    expect(Object.keys(mapping)).toEqual(FEED_EVENT_TYPES);
    expect(oneOf).toEqual(Object.values(mapping).map(($ref) => ({ $ref })));
    const errorsAs = (type: string, event: object): string[] =>
      contract.errors(mapping[type]!.split('/').slice(1), event);
    for (const event of events) {
      expect({ event, errors: errorsAs(event.type, event) }).toEqual({ event, errors: [] });
      expect(FEED_EVENT_TYPES.filter((type) => errorsAs(type, event).length === 0)).toEqual([event.type]);
    }
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(FEED_EVENT_TYPES));
    // The types also differ in their data.
    const as = (type: string, of: string): string[] =>
      errorsAs(type, { ...events.find((event) => event.type === of), type });
    expect(as('order.created', 'order.completed').join()).toContain('additional properties');
    expect(as('order.completed', 'order.created').join()).toContain("required property 'wallet'");
    expect(as('order.completed', 'order.refunded').join()).toContain('additional properties');
    expect(as('order.completed', 'order.refund_voided').join()).toContain('additional properties');
    expect(as('cashback.debited', 'cashback.granted').join()).toContain("required property 'debit'");
    expect(as('wallet.frozen', 'cashback.debited').join()).toContain('additional properties');
    expect(as('order.customer_changed', 'order.completed').join()).toContain("required property 'previous_wallet'");
  });

  it('the document has a webhook for each type, whose body is the schema of the type', () => {
    const { webhooks, components } = JSON.parse(readFileSync('dist/openapi.json', 'utf8')) as OpenApi & {
      webhooks: Record<string, { post: { requestBody: { content: Record<string, { schema: { $ref: string } }> } } }>;
    };
    const bodies = Object.entries(webhooks).map(([type, { post }]) => [
      type,
      post.requestBody.content['application/json']!.schema.$ref,
    ]);
    expect(Object.fromEntries(bodies)).toEqual(components.schemas.EventDto!.discriminator!.mapping);
  });
});
