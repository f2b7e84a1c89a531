// Prints the definitions of JavaScript and TypeScript files with their tokens, as TypeScript's compiler reads them.
// node definitions.cjs FOLDER_OF_TYPESCRIPT < [[key, ending, source], ...] > {key: {name: tokens}}
const ts = require(process.argv[2]);

const isOneOf = (...tests) => (node) => tests.some((test) => test(node));
const isAtTop = isOneOf(
    ts.isFunctionDeclaration, ts.isClassDeclaration, ts.isInterfaceDeclaration, ts.isTypeAliasDeclaration, ts.isEnumDeclaration,
);
const isFunction = isOneOf(ts.isArrowFunction, ts.isFunctionExpression);

/** Return the text of every token, without comments and white space. */
function tokens(node, file) {
    if (node.kind >= ts.SyntaxKind.FirstJSDocNode && node.kind <= ts.SyntaxKind.LastJSDocNode) return [];
    const children = node.getChildren(file);
    return children.length ? children.flatMap((child) => tokens(child, file)) : [node.getText(file)];
}

function definitions(file) {
    const found = Object.create(null);
    const add = (name, node) => (found[name] = [...(found[name] ?? []), ...tokens(node, file)]);
    for (const node of file.statements) {
        if (isAtTop(node) && node.name) {
            add(node.name.text, node);
            const methods = ts.isClassDeclaration(node) ? node.members.filter(ts.isMethodDeclaration) : [];
            for (const method of methods.filter((each) => ts.isIdentifier(each.name)))
                add(`${node.name.text}.${method.name.text}`, method);
        }
        const constants = ts.isVariableStatement(node) ? node.declarationList.declarations : [];
        for (const each of constants)
            if (ts.isIdentifier(each.name) && each.initializer && isFunction(each.initializer)) add(each.name.text, node);
    }
    return Object.fromEntries(Object.entries(found).map(([name, parts]) => [name, parts.join(" ")]));
}

const files = JSON.parse(require("fs").readFileSync(0, "utf8"));
const read = ([key, ending, source]) =>
    [key, definitions(ts.createSourceFile(`a.${ending}`, source, ts.ScriptTarget.Latest, true))];
process.stdout.write(JSON.stringify(Object.fromEntries(files.map(read))));
