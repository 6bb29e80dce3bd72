import { afterEach, describe, expect, it } from '@jest/globals';
import { GrantsService } from '../../src/cashback/grants.service.js';
import { atOnce } from '../support/client.js';
import { expectInvariants, expectProblem, pointersOf } from '../support/expectations.js';
import { aDocument } from '../support/factories.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service, merchant } = useService();
afterEach(() => expectInvariants(service));

const METADATA = { campaign: 'BF-2026', till: '3' };
let counter = 0;
const aGrant = (members: object = {}): Record<string, unknown> & { document: string } => ({
  external_id: `SORRY-${++counter}`,
  document: aDocument(),
  amount: '5.00',
  ...members,
});

describe('the metadata of a grant', () => {
  it('POST /grants keeps metadata, replays it in any order of its members, and GET and void return it', async () => {
    const content = aGrant({ metadata: METADATA });
    const { status, body } = await merchant.client.post('/grants', content);
    expect({ status, metadata: body.metadata }).toEqual({ status: 201, metadata: METADATA });
    const reversed = Object.fromEntries(Object.entries(METADATA).reverse());
    const again = await merchant.client.post('/grants', { ...content, metadata: reversed });
    expect(again).toMatchObject({ status: 201, body });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(await merchant.readGrant(body)).toEqual(body);
    expect((await merchant.voidGrant(body)).metadata).toEqual(METADATA);
  });

  it.each([
    [undefined, ['/metadata/campaign', '/metadata/till']],
    [{ ...METADATA, till: '4' }, ['/metadata/till']],
    [{ ...METADATA, ['__proto__']: 'x' }, ['/metadata/__proto__']],
  ])(
    'POST /grants returns 409 with a pointer to each different member when the metadata is %j',
    async (metadata, pointers) => {
      const content = aGrant({ metadata: METADATA });
      await merchant.client.post('/grants', content);
      for (const _attempt of ['first', 'second']) {
        const answer = await merchant.client.post('/grants', { ...content, metadata });
        expectProblem(answer, 409, 'external_id_conflict');
        expect(pointersOf(answer)).toEqual(pointers);
      }
      expect(await merchant.movements(content.document)).toEqual(['grant 5.00']);
    },
  );

  it('only one of 20 concurrent POST /grants requests with different metadata grants cashback', async () => {
    const content = aGrant();
    const answers = await atOnce(20, (at) =>
      merchant.client.post('/grants', { ...content, metadata: { till: String(at) } }),
    );
    const [won, ...others] = answers.filter(({ status }) => status === 201);
    expect(others).toEqual([]);
    expect(await merchant.readGrant(won!.body)).toEqual(won!.body);
    expect(await merchant.movements(content.document)).toEqual(['grant 5.00']);
  });

  it("erasing a customer erases the metadata of all its grants, and leaves other customers' alone", async () => {
    const [content, others] = [aGrant({ metadata: METADATA }), aGrant({ metadata: METADATA })];
    const { body } = await merchant.client.post('/grants', content);
    const { body: second } = await merchant.client.post('/grants', { ...aGrant(), ...content, external_id: 'second' });
    const { body: kept } = await merchant.client.post('/grants', others);
    // A grant of the operator without an external ID has no metadata.
    const { document } = content;
    await service.app.get(GrantsService).grant(merchant.id, { document, amountCents: 100, reason: 'Sorry' });
    const { pseudonym } = await merchant.erase(document);
    for (const before of [body, second])
      expect(await merchant.readGrant(before)).toEqual({
        ...before,
        document: pseudonym,
        metadata: {},
      });
    expect(await merchant.readGrant(kept)).toEqual(kept);
    expect(await rowsOf(service, "SELECT id FROM cashback_credits WHERE reason = 'Sorry'")).toEqual([]);
    expect((await merchant.client.post('/grants', content)).body).toMatchObject({ id: body.id, document: pseudonym });
  });
});
