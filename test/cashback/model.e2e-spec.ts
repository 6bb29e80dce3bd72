import { testModel } from '../support/model/property.js';

testModel({ sequences: 40, isWhole: false });
