import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';

/** How a TLS connection is verified. The names are those of MySQL's own clients. */
const SSL_MODES = ['DISABLED', 'REQUIRED', 'VERIFY_CA', 'VERIFY_IDENTITY'];
const PARAMETERS = ['ssl-mode', 'ssl-ca', 'ssl-cert', 'ssl-key'];

interface DatabaseUrl {
  host: string;
  port: number;
  username: string;
  password: string;
  database: string;
  /** If absent, the connection is not encrypted. */
  ssl?: DatabaseTls;
}

/** Certificates and keys are in PEM format. */
interface DatabaseTls {
  rejectUnauthorized: boolean;
  verifyIdentity: boolean;
  ca?: string;
  cert?: string;
  key?: string;
}

/**
 * Reads DATABASE_URL: `mysql://user:password@host:3306/database`, or `mariadb://…`, which means the same, with these
 * optional parameters:
 *
 * - `ssl-mode`: `DISABLED` (the default), `REQUIRED` (encrypted but not verified), `VERIFY_CA` (the certificate must be
 *   issued by a CA in `ssl-ca`), `VERIFY_IDENTITY` (it must also match the host, which must be a name);
 * - `ssl-ca`: a file with CA certificates. Without it, VERIFY_IDENTITY trusts the CAs that Node trusts;
 * - `ssl-cert`, `ssl-key`: files with the client's certificate and key.
 *
 * @throws Error whose message completes a sentence that begins with the variable's name.
 */
export function parseDatabaseUrl(value: string): DatabaseUrl {
  const url = /^(mysql|mariadb):\/\/[^/]+\/[^/?#]+/.test(value) && URL.canParse(value) ? new URL(value) : undefined;
  const parts = url && decoded(url);
  if (!url || !parts || parts.host === '') {
    throw new Error(
      'must be a URL such as mysql://user:password@host:3306/cashback (or mariadb://…), with special characters in a password percent-encoded',
    );
  }
  const ssl = tlsOf(url.searchParams);
  // For an IP address, mysql2 would compare the certificate with "localhost".
  if (ssl?.verifyIdentity && isIP(parts.host)) throw new Error('must have a host name for ssl-mode=VERIFY_IDENTITY');
  return { ...parts, ...(ssl && { ssl }) };
}

/** Returns what is wrong with DATABASE_URL, if anything, as the rest of a sentence that begins with its name. */
export function databaseUrlFault(value: string): string | undefined {
  try {
    parseDatabaseUrl(value);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * Returns the URL with the password from `DATABASE_PASSWORD` if the URL has none. Special characters in
 * `DATABASE_PASSWORD` are not encoded; in a URL they are percent-encoded.
 */
export function withPassword(url: string, password: string | undefined): string {
  const complete = new URL(url);
  if (!password || complete.password !== '') return url;
  complete.password = encodeURIComponent(password);
  return complete.href;
}

function decoded({ hostname, port, username, password, pathname }: URL): DatabaseUrl | undefined {
  try {
    return {
      // The brackets of an IPv6 address belong to the URL.
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: Number(port || 3306),
      username: decodeURIComponent(username),
      password: decodeURIComponent(password),
      database: decodeURIComponent(pathname.slice(1)),
    };
  } catch {
    return undefined;
  }
}

function tlsOf(parameters: URLSearchParams): DatabaseTls | undefined {
  const unknown = [...parameters.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) throw new Error(`must not have the parameter "${unknown}": use ${PARAMETERS.join(', ')}`);
  const mode = parameters.get('ssl-mode') ?? 'DISABLED';
  if (!SSL_MODES.includes(mode)) throw new Error(`must have an ssl-mode of ${SSL_MODES.join(', ')}`);
  const [ca, cert, key] = [pem(parameters, 'ssl-ca'), pem(parameters, 'ssl-cert'), pem(parameters, 'ssl-key')];
  if (mode === 'DISABLED') {
    if (ca ?? cert ?? key) throw new Error('must have an ssl-mode if it names certificates');
    return undefined;
  }
  if (mode === 'VERIFY_CA' && ca === undefined) throw new Error('must have ssl-ca with ssl-mode=VERIFY_CA');
  return {
    rejectUnauthorized: mode !== 'REQUIRED',
    verifyIdentity: mode === 'VERIFY_IDENTITY',
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  };
}

function pem(parameters: URLSearchParams, name: string): string | undefined {
  const file = parameters.get(name);
  if (file === null) return undefined;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`must name a readable file as ${name}: ${(error as Error).message}`, { cause: error });
  }
}
