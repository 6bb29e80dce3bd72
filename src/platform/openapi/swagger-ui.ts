import { type INestApplication } from '@nestjs/common';
import { type Request, type Response } from 'express';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { openApiDocument } from './document.js';
import { postmanCollection } from './postman.js';

declare const location: { origin: string };

/** A request that "Try it out" of Swagger UI is about to send. */
export interface TriedRequest {
  url: string;
  method: string;
  body?: unknown;
}

/**
 * Completes a request of "Try it out" in the browser. Swagger UI receives the source of this function, so it uses
 * nothing outside itself.
 *
 * - The request goes to the origin of the page: that is this service, whatever its public URL is.
 * - The `external_id` of an example gets a suffix, the same until the page is loaded again. So the first click creates
 *   something, and the second one is the repeat of it.
 */
function completeTriedRequest(request: TriedRequest): TriedRequest {
  const { pathname, search } = new URL(request.url, location.origin);
  request.url = location.origin + pathname + search;
  if (typeof request.body === 'string') {
    const page = globalThis as { exampleSuffix?: string };
    page.exampleSuffix ??= Math.random().toString(36).slice(2, 10);
    request.body = request.body.replace(
      /("external_id"\s*:\s*"(?:PED-1001|DEV-1|SORRY-1|FIX-1))"/,
      `$1-${page.exampleSuffix}"`,
    );
  }
  return request;
}

/** The operations of Swagger UI, grouped by tag: the members of these maps and lists that are used here. */
interface Operations {
  filter(keep: (operation: { getIn(path: string[]): unknown }) => boolean): Operations;
  readonly size: number;
}
interface Groups {
  map(change: (group: Group) => Group): Groups;
  filter(keep: (group: Group) => boolean): Groups;
}
interface Group {
  get(name: 'operations'): Operations;
  update(name: 'operations', change: (operations: Operations) => Operations): Group;
}

/**
 * Finds the operations that have each word of a phrase in their method, path, summary or tag. The filter of Swagger UI
 * knows only tags. It receives the source of this function, too.
 */
function filterOperations(groups: Groups, phrase: string): Groups {
  const words = phrase.toLowerCase().split(/\s+/);
  const members = [['method'], ['path'], ['operation', 'summary'], ['operation', 'tags']];
  return groups
    .map((group) =>
      group.update('operations', (operations) =>
        operations.filter((operation) => {
          const text = members.map((path) => String(operation.getIn(path))).join(' ');
          return words.every((word) => text.toLowerCase().includes(word));
        }),
      ),
    )
    .filter((group) => group.get('operations').size > 0);
}

/**
 * Shows requests and live responses completely, with the headers first: only `Idempotency-Replayed` tells a repeat.
 * Documented headers are shown when the mouse is over them.
 */
const STYLE = `
.swagger-ui .body-param__text { field-sizing: content; }
.swagger-ui .parameters input[type='text'] { max-width: 400px; width: 100%; }
.swagger-ui .live-responses-table .highlight-code > .microlight { max-height: none; }
.swagger-ui .live-responses-table .response-col_description { display: flex; flex-direction: column; }
.swagger-ui .live-responses-table div:not(:last-child):has(> h5 + pre) { order: -1; }
.swagger-ui .headers-wrapper:not(:hover) table { display: none; }
.swagger-ui .headers-wrapper h4::after { content: ' ▾'; }
`;

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Cashback order service</title>
<link rel="icon" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
<style>${STYLE}</style>
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/swagger-ui-init.js"></script>
</body>
</html>
`;

/** Shows the document beside the page. Swagger UI takes functions as they are. */
const INIT = `SwaggerUIBundle({
  url: new URL('docs-json', location.href).href,
  dom_id: '#swagger-ui',
  deepLinking: true,
  persistAuthorization: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
  filter: true,
  plugins: [{ fn: { opsFilter: ${filterOperations.toString()} } }],
  onComplete: () => { document.querySelector('.operation-filter-input').placeholder = 'Search operations'; },
  requestInterceptor: ${completeTriedRequest.toString()},
});
`;

/** Where `npm run build` puts the pages for integrators, also if the service runs from `src`, as in tests. */
const DOCUMENTS = path.join(import.meta.dirname.replace(/(dist.)?src.platform.openapi$/, ''), 'dist/documents');

/**
 * Serves Swagger UI at `/docs`, the document at `/docs-json`, and the pages under their paths in the project, with
 * their index at `/llms.txt`. `/` redirects to `/docs`. Nobody needs a token for them, so what is sent is built once:
 * `SwaggerModule.setup` would serialize the document for each request.
 */
export function serveDocumentation(app: INestApplication): void {
  // The version of Swagger UI that Nest's package depends on.
  const { resolve } = createRequire(createRequire(import.meta.url).resolve('@nestjs/swagger'));
  const asset = (name: string) => () => readFileSync(resolve(`swagger-ui-dist/${name}`));
  app.getHttpAdapter().get('/', (_request: Request, response: Response) => response.redirect('/docs'));
  app.getHttpAdapter().get('/docs/', (_request: Request, response: Response) => response.redirect('../docs'));
  serve(app, '/docs', 'html', () => PAGE);
  serve(app, '/docs-json', 'json', () => JSON.stringify(openApiDocument(app)));
  serve(app, '/docs/swagger-ui-init.js', 'js', () => INIT);
  serve(app, '/docs/swagger-ui-bundle.js', 'js', asset('swagger-ui-bundle.js'));
  serve(app, '/docs/swagger-ui.css', 'css', asset('swagger-ui.css'));
  serve(app, '/docs/favicon-32x32.png', 'png', asset('favicon-32x32.png'));
  serve(app, '/docs/postman.json', 'json', () => JSON.stringify(postmanCollection(openApiDocument(app)), null, 2));
  for (const file of existsSync(DOCUMENTS) ? readdirSync(DOCUMENTS, { recursive: true, encoding: 'utf8' }) : []) {
    const type = /\.(md|csv)$/.exec(file)?.[1] ?? 'txt';
    const read = () => readFileSync(path.join(DOCUMENTS, file));
    if (path.extname(file) !== '') serve(app, `/${file.replaceAll(path.sep, '/')}`, type, read);
  }
}

/** Serves what the first request for it builds. Express answers 304 if the client has it already. */
function serve(app: INestApplication, path: string, type: string, build: () => string | Buffer): void {
  let bytes: Buffer | undefined;
  let etag = '';
  app.getHttpAdapter().get(path, (_request: Request, response: Response) => {
    if (bytes === undefined) {
      bytes = Buffer.from(build());
      etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`;
    }
    response.set({ etag, 'cache-control': 'no-cache' }).type(type).send(bytes);
  });
}
