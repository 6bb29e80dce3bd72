/**
 * Reads CORS_ORIGINS.
 *
 * @param text empty (no origin), or origins as browsers send them, separated by commas.
 * @returns undefined if one is not valid: `*`, or an origin with a path or a trailing slash.
 */
export function allowedOrigins(text: string): string[] | undefined {
  if (text.trim() === '') return [];
  const origins = text.split(',').map((origin) => origin.trim());
  return origins.every(isOrigin) ? origins : undefined;
}

function isOrigin(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

/** Returns whether a text is an HTTP address without a query, a fragment, credentials and a trailing slash. */
export function isPublicUrl(text: string): boolean {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) return false;
  const { origin, pathname } = new URL(text);
  return text === (pathname === '/' ? origin : origin + pathname) && !text.endsWith('/');
}
