// @ts-check
//
// What the demo merchant sells, to whom, and why it grants and refunds. The same numbers come at each start.

/** The stores, and the till of each. The shop on the web has no store. */
export const STORES = {
  'SP-014': 'caixa-3@example.com',
  'RJ-003': 'caixa-5@example.com',
  'MG-021': 'caixa-8@example.com',
};
export const WEB_SHOP = 'loja-virtual@example.com';
/** Sold in SP-014 until 60 days ago. */
export const FORMER_TILL = 'caixa-1@example.com';
export const SUPPORT = 'atendimento@example.com';
export const HEAD_OF_SUPPORT = 'gerente@example.com';
export const MARKETING = 'marketing@example.com';

/** @type {[id: string, description: string, price: number][]} */
export const PRODUCTS = [
  ['cafe-500', 'Café em grãos 500 g', 42.9],
  ['coador-103', 'Coador de pano', 14.5],
  ['garrafa-1l', 'Garrafa térmica 1 L', 89.9],
  ['cafeteira-6', 'Cafeteira italiana, 6 xícaras', 119.9],
  ['cuscuzeira', 'Cuscuzeira de alumínio', 54.9],
  ['panela-45', 'Panela de pressão 4,5 L', 189.9],
  ['frigideira-24', 'Frigideira antiaderente 24 cm', 79.9],
  ['facas-5', 'Jogo de facas, 5 peças', 134.9],
  ['liquidificador', 'Liquidificador 1.400 W', 229.9],
  ['air-fryer-5', 'Air fryer 5 L', 449],
  ['filtro-barro', 'Filtro de barro São João 6 L', 159],
  ['ventilador-40', 'Ventilador de mesa 40 cm', 179.9],
  ['rede-casal', 'Rede de dormir, casal', 149],
  ['toalha-banho', 'Toalha de banho', 49.9],
  ['lencol-queen', 'Jogo de lençol queen, 4 peças', 219.9],
  ['churrasqueira', 'Churrasqueira a carvão', 329],
  ['aspirador', 'Aspirador de pó vertical', 389.9],
  ['tv-50', 'Smart TV 50"', 2199],
];

export const SHIPPING = [14.9, 19.9, 29.9];

/** How customers pay; the first more often. */
export const METHODS = ['pix', 'credit_card', 'pix', 'debit_card', 'cash'];

export const REFUND_REASONS = [
  'Produto com defeito',
  'Arrependimento em 7 dias',
  'Tamanho errado',
  'Embalagem avariada',
];

/** @type {[reason: string, amount: number][]} */
export const GRANT_REASONS = [
  ['Atraso na entrega', 20],
  ['Aniversário', 15],
  ['Indicação de amigo', 10],
  ['Falta de produto na retirada', 25],
];

/**
 * Returns numbers from 0 to 1 that look random and are the same each time (mulberry32).
 *
 * @param {number} seed
 */
export function randomFrom(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Returns documents with right check digits: CPFs, and a few CNPJs.
 *
 * @param {() => number} random
 * @param {number} count
 */
export function documentsOf(random, count) {
  const digits = (/** @type {number} */ length) => String(Math.floor(random() * 10 ** length)).padStart(length, '0');
  return Array.from({ length: count }, (_, at) => withCheckDigits(at % 20 === 7 ? `${digits(8)}0001` : digits(9)));
}

/** @param {string} root 9 digits of a CPF, or 12 of a CNPJ */
function withCheckDigits(root) {
  const weights = root.length === 9 ? 10 : 8;
  let text = root;
  for (let added = 0; added < 2; added++) {
    const sum = [...text].reverse().reduce((total, digit, at) => total + Number(digit) * (2 + (at % weights)), 0);
    text += String(((sum * 10) % 11) % 10);
  }
  return text;
}
