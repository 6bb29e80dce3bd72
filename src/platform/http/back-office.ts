import { type NestExpressApplication } from '@nestjs/platform-express';
import { type NextFunction, type Request, type Response, static as serveFolder } from 'express';
import helmet from 'helmet';
import path from 'node:path';

/** Where `npm run build` puts the page, also if the service runs from `src`, as in tests. */
const FOLDER = path.join(import.meta.dirname.replace(/(dist.)?src.platform.http$/, ''), 'dist/back-office');

/** The page loads nothing from elsewhere, runs nothing but its own files, and no other page shows it in a frame. */
const directives = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'"],
  'connect-src': ["'self'"],
  'img-src': ['data:'],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
};

const YEAR = 'public, max-age=31536000, immutable';

/** Serves the page of docs/back-office.md at `/back-office/`. The names of its files change with their content. */
export function serveBackOffice(app: NestExpressApplication): void {
  app.use('/back-office', helmet({ contentSecurityPolicy: { useDefaults: false, directives } }));
  const setHeaders = (response: { setHeader(name: string, value: string): unknown }, path: string): void =>
    void response.setHeader('cache-control', path.endsWith('.html') ? 'no-cache' : YEAR);
  app.use('/back-office', (request: Request, _: Response, next: NextFunction) => {
    // Otherwise a failed condition is an error of Express and no problem.
    for (const condition of ['if-match', 'if-unmodified-since']) delete request.headers[condition];
    next();
  });
  app.use('/back-office', serveFolder(FOLDER, { cacheControl: false, acceptRanges: false, setHeaders }));
}
