import { describe, expect, it } from '@jest/globals';
import { requestedContent } from '../cashback/grant-content.js';
import { contentOf } from './order-content.js';

/** The digest of this text is stored. A new member stands behind the others, and only where a content has it. */
const LEAST_OF_ORDER =
  '{"external_id":"A-1","document":"52998224725","total":1000,"eligible_total":null,"earn_amount":null,' +
  '"items":[{"id":"sku","price":1000,"description":null,"quantity":1}],"payment_methods":[],"metadata":{},"store":null}';

const LEAST_OF_GRANT =
  '{"external_id":"G-1","document":"52998224725","amount":1000,"available_on":null,"expires_on":null,"reason":null,' +
  '"note":null,"store":null,"metadata":{}}';

describe('the content of earlier requests', () => {
  it('an order that has only what it must have keeps its digest when orders get another member', () => {
    const order = {
      externalId: 'A-1',
      document: '52998224725',
      totalCents: 1000,
      eligibleTotalCents: null,
      earnAmountCents: null,
      items: [{ id: 'sku', priceCents: 1000 }],
      paymentMethods: [],
      metadata: null,
      store: null,
    };
    expect(JSON.stringify(contentOf(order))).toBe(LEAST_OF_ORDER);
  });

  it('a grant that has only what it must have keeps its digest when grants get another member', () => {
    const grant = { externalId: 'G-1', document: '52998224725', amountCents: 1000 };
    expect(JSON.stringify(requestedContent(grant))).toBe(LEAST_OF_GRANT);
  });
});
