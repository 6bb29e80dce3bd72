/**
 * Reads CORS_ORIGINS.
 *
 * @param text empty (nobody), or origins with commas between them, as browsers send them.
 * @returns undefined where one is none: `*`, a path or a slash at the end would never be what a browser sends.
 */
export function allowedOrigins(text: string): string[] | undefined {
  if (text.trim() === '') return [];
  const origins = text.split(',').map((origin) => origin.trim());
  return origins.every(isOrigin) ? origins : undefined;
}

function isOrigin(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text;
}
