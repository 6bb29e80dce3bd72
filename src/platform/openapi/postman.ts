import { type OpenAPIObject } from '@nestjs/swagger';
import { type Operation } from './decorators.js';

/** The operations of a sale, in their order, and the member of each response that later requests need. */
const SALE: [operation: string, saved?: [variable: string, member: string]][] = [
  ['login', ['access_token', 'access_token']],
  ['createGrant'],
  ['createQuote'],
  ['createOrder', ['order_id', 'id']],
  ['getOrder'],
  ['holdRedemption'],
  ['completeOrder'],
  ['quoteRefund'],
  ['createRefund', ['refund_id', 'id']],
  ['getRefund'],
  ['searchWallet', ['wallet_id', 'id']],
  ['listWalletEntries'],
];

/**
 * Returns a Postman collection of a sale, from the login to the refund, with the examples of the document. It runs as
 * it is: in what an importer makes of the document, no request has the token or the ID of an earlier response.
 */
export function postmanCollection({ info, servers = [], paths }: OpenAPIObject): object {
  const operations = new Map(
    Object.entries(paths).flatMap(([path, methods]) =>
      (Object.entries(methods) as [string, Operation][]).map(
        ([method, operation]) => [operation.operationId, { method, path, operation }] as const,
      ),
    ),
  );
  const variables = { base_url: servers[0]?.url, ...exampleOf(operations.get('login')!.operation) };
  return {
    info: {
      name: `${info.title}: a sale`,
      description:
        'Run it as a whole. The customer of the examples gets a grant, redeems a part of it and returns items.',
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{access_token}}', type: 'string' }] },
    variable: Object.entries(variables).map(([key, value]) => ({ key, value })),
    item: SALE.map(([id, saved]) => item({ ...operations.get(id)!, saved })),
  };
}

interface Item {
  method: string;
  path: string;
  operation: Operation;
  saved: [variable: string, member: string] | undefined;
}

function item({ method, path, operation, saved }: Item): object {
  const resource = path.split('/')[1]?.slice(0, -1);
  const url = `{{base_url}}${path.replace('{id}', `{${resource}_id}`).replace(/\{(\w+)\}/g, '{{$1}}')}`;
  const body = exampleOf(operation);
  const exec = [
    `pm.test(${JSON.stringify(operation.summary)}, () => pm.expect(pm.response.code).to.be.within(200, 299));`,
    ...(saved ? [`pm.collectionVariables.set('${saved[0]}', pm.response.json().${saved[1]});`] : []),
  ];
  return {
    name: operation.summary,
    event: [{ listen: 'test', script: { type: 'text/javascript', exec } }],
    request: {
      method: method.toUpperCase(),
      url,
      ...(body !== undefined && { body: { mode: 'raw', raw: rawOf(body), options: { raw: { language: 'json' } } } }),
    },
  };
}

/** Every run is another sale, of the user that the variables of the collection name. */
const rawOf = (body: object): string =>
  JSON.stringify(body, null, 2)
    .replace(/("external_id": ".*)"/, '$1-{{$$randomUUID}}"')
    .replace(/("(email|password)": ").*"/g, '$1{{$2}}"');

function exampleOf({ requestBody }: Operation): object | undefined {
  const json =
    requestBody !== undefined && 'content' in requestBody ? requestBody.content['application/json'] : undefined;
  return json?.example as object | undefined;
}
