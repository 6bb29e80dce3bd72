import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { type ProblemCode, PROBLEMS } from '../../src/platform/values/problem.js';
import { describeWithEdge, expectEdgeProblem, RawConnection, useEdge } from '../support/edge.js';
import { aRequest } from '../support/raw.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describeWithEdge('request IDs through the edge', () => {
  const { edge, service, merchant } = useEdge();

  /** One request that an instance answers, and one that the edge refuses. */
  const requests = (id: string): Buffer[] => [
    aRequest('GET /nowhere', { 'x-request-id': id }),
    aRequest('POST /orders', { 'x-request-id': id, 'content-length': '300000' }),
  ];

  it('a well-formed request ID of the client is in the response, in the problem and in the log of the service', async () => {
    for (const request of requests('Order_7.retry-2')) {
      const { headers, body } = await new RawConnection(edge, request).answer();
      expect([headers.get('x-request-id'), body.request_id]).toEqual(Array(2).fill('Order_7.retry-2'));
    }
    expect(service.logged.filter((line) => line.includes('Order_7.retry-2'))).toHaveLength(1);
  });

  it.each(['', 'x'.repeat(129), 'a b', 'a,b', '"><script>', '{}', '%[env(PATH)]', 'one\r\nx-request-id: two'])(
    'the request ID is a new UUID when the client sends %j',
    async (id) => {
      for (const request of requests(id)) {
        const { headers, body } = await new RawConnection(edge, request).answer();
        expect(headers.get('x-request-id')).toMatch(UUID);
        expect(body.request_id).toBe(headers.get('x-request-id'));
      }
    },
  );

  it('two requests without a request ID have different ones', async () => {
    const answers = await Promise.all([merchant.orders().answer, merchant.orders().answer]);
    expect(new Set(answers.map(({ headers }) => headers.get('x-request-id'))).size).toBe(2);
  });
});

describeWithEdge('problems of the edge', () => {
  const { edge } = useEdge();

  it('every problem in ops/edge.cfg has the members of the catalog', () => {
    const problems = [...readFileSync('ops/edge.cfg', 'utf8').matchAll(/'(\{"type":.*),'$/gm)];
    expect(problems).toHaveLength(7);
    for (const [, text] of problems) {
      const { type, detail, code, ...members } = JSON.parse(`${text}}`) as Record<string, string>;
      expect(PROBLEMS[code as ProblemCode]).toMatchObject(members);
      expect([type, typeof detail]).toEqual([`urn:problem:cashback:${code}`, 'string']);
    }
  });

  it('the instance of a problem is the path of the request, whatever it contains, without the query', async () => {
    const target = '/or"d\\ers%00?document=52998224725';
    const request = `POST ${target} HTTP/1.1\r\nhost: x\r\ncontent-length: 262145\r\n\r\n`;
    const answer = await new RawConnection(edge, request).answer();
    expectEdgeProblem(answer, 'payload_too_large', '/or"d\\ers%00');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  });
});
