import { get, type IncomingHttpHeaders } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { expect, it } from '@jest/globals';
import { describeWithEdge, useEdge } from '../support/edge.js';

describeWithEdge('The back office behind the edge', () => {
  const { edge, merchant } = useEdge();

  /** Without `fetch`, which decompresses. */
  const read = (path: string, headers: object = {}): Promise<{ headers: IncomingHttpHeaders; body: Buffer }> =>
    new Promise((resolve, reject) => {
      const request = get(`${edge.url}${path}`, { headers: { 'accept-encoding': 'gzip', ...headers } }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve({ headers: response.headers, body: Buffer.concat(chunks) }));
      });
      request.on('error', reject);
    });

  it('is compressed, and kept for a year by browsers', async () => {
    const page = await read('/back-office/');
    expect(page.headers).toMatchObject({ 'content-encoding': 'gzip', 'cache-control': 'no-cache' });
    const files = [
      ...gunzipSync(page.body)
        .toString()
        .matchAll(/"(main-\w{8}\.\w+)"/g),
    ].map(([, file]) => file!);
    expect(files).toHaveLength(2);
    for (const file of files) {
      const { headers } = await read(`/back-office/${file}`);
      expect(headers).toMatchObject({
        'content-encoding': 'gzip',
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
      });
    }
  });

  it('is all that is compressed: the size of JSON must not tell what is in it', async () => {
    const { headers } = await read('/orders', { authorization: `Bearer ${merchant.tokens.access_token}` });
    expect(headers['content-encoding']).toBeUndefined();
    const unknown = await read('/back-office/nothing.js');
    expect(unknown.headers).toMatchObject({ 'content-type': expect.stringContaining('application/problem+json') });
    expect(unknown.headers['content-encoding']).toBeUndefined();
  });
});
