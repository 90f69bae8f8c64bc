import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder

/// Reads an entity from its declaration and notes what is wrong with it.
struct EntityReading {
    private(set) var entity = EntityDeclaration()
    private(set) var diagnostics: [Diagnostic] = []
    /// Whether the struct is a part of records, and no record.
    let isEmbeddable: Bool
    private var structName = ""
    private var hasID = false
    private var isStruct = false

    /// Whether the struct has what a conformance needs, whatever else is wrong.
    var canConform: Bool { isStruct && (hasID || isEmbeddable) }

    init(
        _ node: AttributeSyntax, _ declaration: some DeclGroupSyntax, isEmbeddable: Bool = false
    ) {
        self.isEmbeddable = isEmbeddable
        guard let structure = declaration.as(StructDeclSyntax.self) else {
            reportNotStruct(declaration)
            return
        }
        structName = structure.name.plainText
        entity.name = structName
        readName(node)
        if let parameters = structure.genericParameterClause {
            report(isEmbeddable ? .embeddableGeneric : .generic, at: parameters)
        } else {
            isStruct = true
        }
        let access = structure.modifiers.first {
            [.keyword(.public), .keyword(.package)].contains($0.name.tokenKind)
        }
        entity.access = access.map { "\($0.name.text) " } ?? ""
        for member in structure.memberBlock.members { read(member.decl) }
        if !isEmbeddable, !hasID,
            !diagnostics.contains(where: { $0.diagMessage as? Problem == .invalidID })
        {
            report(.missingID, at: structure.name, fixIts: [structure.insertingID])
        }
    }

    mutating func report(
        _ problem: Problem, at node: some SyntaxProtocol, fixIts: [FixIt] = []
    ) {
        diagnostics.append(Diagnostic(node: node, message: problem, fixIts: fixIts))
    }

    private mutating func reportNotStruct(_ declaration: some DeclGroupSyntax) {
        let keyword = declaration.introducer
        let fixIts = declaration.as(ClassDeclSyntax.self).map { [$0.replacingClass] } ?? []
        report(
            isEmbeddable
                ? .embeddableNotStruct(keyword: keyword.text) : .notStruct(keyword: keyword.text),
            at: keyword, fixIts: fixIts)
    }

    private mutating func readName(_ node: AttributeSyntax) {
        guard let argument = node.argumentList.first?.expression,
            !argument.is(NilLiteralExprSyntax.self)
        else { return }
        let name = argument.as(StringLiteralExprSyntax.self)?.representedLiteralValue
        guard let name, !name.isEmpty else {
            return report(.nameNotLiteral, at: argument)
        }
        if !name.isServiceName { report(.nameNotAllowed(name), at: argument) }
        entity.name = name
    }

    private mutating func read(_ member: DeclSyntax) {
        if member.is(InitializerDeclSyntax.self) {
            entity.hasInitializer = true
        } else if let condition = member.as(IfConfigDeclSyntax.self) {
            read(condition)
        } else if let variable = member.as(VariableDeclSyntax.self) {
            read(variable)
        }
    }

    private mutating func read(_ condition: IfConfigDeclSyntax) {
        for clause in condition.clauses {
            guard case .decls(let members) = clause.elements else { continue }
            for member in members {
                if member.decl.is(InitializerDeclSyntax.self) { entity.hasInitializer = true }
                if let nested = member.decl.as(IfConfigDeclSyntax.self) { read(nested) }
                guard let variable = member.decl.as(VariableDeclSyntax.self), !variable.isStatic
                else { continue }
                if !variable.bindings.allSatisfy(\.isComputed) {
                    report(.conditionalProperty, at: variable)
                }
            }
        }
    }

    private mutating func read(_ variable: VariableDeclSyntax) {
        let marks = ["Attribute", "Relationship"].flatMap(variable.attributes.named)
        for (position, binding) in zip(variable.bindings.indices, variable.bindings) {
            guard let identifier = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier
            else {
                if !variable.isStatic { report(.severalNames, at: binding.pattern) }
                continue
            }
            let name = identifier.plainText
            if variable.isStatic || binding.isComputed {
                if name == "id", !variable.isStatic, !isEmbeddable {
                    report(.invalidID, at: identifier)
                }
                for mark in marks { reportUnstored(mark, name: name, variable) }
                continue
            }
            // In `var a, b: Int` the type stands behind the last name.
            let type =
                binding.typeAnnotation?.type
                ?? (binding.initializer == nil
                    ? variable.bindings[position...].lazy.compactMap(\.typeAnnotation).first?.type
                    : nil)
            let property = StoredProperty(
                variable: variable, binding: binding, identifier: identifier, name: name,
                type: type)
            if name == "id", isEmbeddable {
                report(.embeddableID, at: identifier)
            } else if name == "id" {
                readID(property, marks: marks)
            } else {
                read(property)
            }
        }
    }

    private mutating func reportUnstored(
        _ mark: AttributeSyntax, name: String, _ variable: VariableDeclSyntax
    ) {
        report(
            .markOnUnstored(mark: mark.name ?? "", name: name), at: mark,
            fixIts: [variable.removing(mark)])
    }

    private mutating func readID(_ property: StoredProperty, marks: [AttributeSyntax]) {
        hasID = true
        for mark in marks {
            report(
                .markOnID(mark.name ?? ""), at: mark, fixIts: [property.variable.removing(mark)])
        }
        if let type = property.type, !isID(type) {
            hasID = false
            let name: TypeSyntax = "ID"
            let fixed = name.with(\.leadingTrivia, type.leadingTrivia)
                .with(\.trailingTrivia, type.trailingTrivia)
            let fix = FixIt(
                message: Remedy("replace '\(type.trimmedDescription)' with 'ID'"),
                changes: [.replace(oldNode: Syntax(type), newNode: Syntax(fixed))])
            return report(.invalidID, at: type, fixIts: [fix])
        }
        if property.type == nil {
            let call = property.initializer?.as(FunctionCallExprSyntax.self)
            let called = call?.calledExpression.trimmedDescription ?? ""
            guard let type = called.isEmpty ? nil : TypeSyntax("\(raw: called)"), isID(type) else {
                hasID = false
                return report(.invalidID, at: property.identifier)
            }
        }
        entity.idPosition = entity.attributes.count
        if property.variable.hasModifier(.lazy) {
            report(.lazyProperty("id"), at: property.variable)
        }
        reportConstant(property)
    }

    private func isID(_ type: TypeSyntax) -> Bool {
        if let member = type.as(MemberTypeSyntax.self), member.name.text == "ID" {
            return ["Self", structName].contains(member.baseType.lastName)
        }
        if type.lastName == "EntityID", let model = type.genericArguments.first {
            return ["Self", structName].contains(model.lastName)
        }
        return type.is(IdentifierTypeSyntax.self) && type.lastName == "ID"
    }

    /// Notes a `let` that has a value.
    mutating func reportConstant(_ property: StoredProperty) {
        let variable = property.variable
        if variable.bindingSpecifier.tokenKind == .keyword(.let), property.initializer != nil {
            report(
                .constantWithValue(property.name), at: variable.bindingSpecifier,
                fixIts: [variable.replacingSpecifier(with: .var)])
        }
    }

    /// Adds an attribute; notes a field that another one has already.
    mutating func append(_ attribute: AttributeDeclaration, at node: some SyntaxProtocol) {
        let other = entity.attributes.first { $0.fieldLiteral == attribute.fieldLiteral }
        if let other { report(.sameField(attribute.name, other: other.name), at: node) }
        entity.attributes.append(attribute)
    }

    mutating func append(_ relationship: ToManyDeclaration) { entity.toMany.append(relationship) }
}
