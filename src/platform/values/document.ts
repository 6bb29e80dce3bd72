/** A CPF: 11 digits. Or a CNPJ: twelve digits or capital letters and two digits (letters since July 2026). */
export const DOCUMENT_PATTERN = /^(\d{11}|[0-9A-Z]{12}\d{2})$/;

const DOCUMENTS_IN_TEXT = /\b(?:\d{11}|[0-9A-Z]{12}\d{2})\b/g;

export function isDocument(text: string): boolean {
  return DOCUMENT_PATTERN.test(text);
}

/** A CPF or a CNPJ with or without punctuation, where it belongs: `1234567890.0` is a number that a program changed. */
export const SENT_DOCUMENT_PATTERN =
  /^(\d{3}\.?\d{3}\.?\d{3}-?\d\d|[0-9A-Z]{2}\.?[0-9A-Z]{3}\.?[0-9A-Z]{3}\/?[0-9A-Z]{4}-?\d\d)$/;

/** `529.982.247-25` as it is stored: `52998224725`. Other texts stay. */
export const bareDocument = (text: string): string =>
  SENT_DOCUMENT_PATTERN.test(text) ? text.replace(/[./-]/g, '') : text;

/** The same, also with the dashes, blanks and wide digits of other programs. */
export function withoutPunctuation(text: string): string {
  const plain = text
    .normalize('NFKC')
    .replace(/[\s\p{Cf}]/gu, '')
    .replace(/[\u2212\p{Pd}]/gu, '-');
  return SENT_DOCUMENT_PATTERN.test(plain) ? bareDocument(plain) : text;
}

/** `52998224725` as people write it, also if some of it is masked. Texts of other lengths stay. */
export const withPunctuation = (text: string): string =>
  text.length === 11
    ? text.replace(/^(...)(...)(...)(..)$/, '$1.$2.$3-$4')
    : text.replace(/^(..)(...)(...)(....)(..)$/, '$1.$2.$3/$4-$5');

/** What is wrong with the document of a new customer: tills send one digit, repeated, for a customer without any. */
export function newDocumentFault(document: string, { documentCheckDigits }: { documentCheckDigits: boolean }) {
  if (REPEATED.test(document)) return 'must not be one digit repeated: it would be the same customer for all';
  if (documentCheckDigits && !hasValidCheckDigits(document)) return 'must be a CPF or a CNPJ with valid check digits';
  return undefined;
}

const REPEATED = /^(\d)\1+$/;

export function hasValidCheckDigits(text: string): boolean {
  if (!isDocument(text) || REPEATED.test(text)) return false;
  // The weights from the right: 2 to 11 for a CPF; 2 to 9, then from 2 again, for a CNPJ.
  const weights = text.length === 11 ? 10 : 8;
  return [-2, -1].every((at) => text.at(at) === checkDigitOf(text.slice(0, at), weights));
}

/** Modulo 11. The value of a character is its ASCII code less that of `0`, so `A` is 17. */
function checkDigitOf(characters: string, weights: number): string {
  let sum = 0;
  for (let at = 0; at < characters.length; at++)
    sum += (characters.charCodeAt(characters.length - 1 - at) - 48) * (2 + (at % weights));
  return String(((sum * 10) % 11) % 10);
}

/** Masks the documents in a text for logs: `***.982.247-**`, `**.***.333/0001-**`. */
export function maskDocuments(text: string): string {
  return text.replace(DOCUMENTS_IN_TEXT, (document) =>
    document.length === 11
      ? `***.${document.slice(3, 6)}.${document.slice(6, 9)}-**`
      : `**.***.${document.slice(5, 8)}/${document.slice(8, 12)}-**`,
  );
}
