/**
 * Removes the punctuation of a CPF or CNPJ.
 *
 * @returns `52998224725` for `529.982.247-25`; undefined for what cannot be the document of a customer, such as an
 * empty field or `000.000.000-00`. Check digits are not compared
 */
export function cleanDocument(text: string | null | undefined): string | undefined {
  const bare = (text ?? '').replace(/[\s./-]/g, '').toUpperCase();
  return /^(?!(\d)\1+$)(\d{11}|[0-9A-Z]{12}\d{2})$/.test(bare) ? bare : undefined;
}
