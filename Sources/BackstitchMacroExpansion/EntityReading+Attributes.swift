import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// A stored property of an entity's struct.
struct StoredProperty {
    let variable: VariableDeclSyntax
    let binding: PatternBindingSyntax
    let identifier: TokenSyntax
    let name: String
    let type: TypeSyntax?

    var initializer: ExprSyntax? { binding.initializer?.value }
}

extension EntityReading {
    /// Reads a stored property that is an attribute or a to-many relationship.
    mutating func read(_ property: StoredProperty) {
        if let target = property.type?.toManyTarget {
            if isEmbeddable { return report(.embeddableToMany, at: property.identifier) }
            readToMany(property, target: target)
            return
        }
        if property.variable.hasModifier(.lazy) {
            report(.lazyProperty(property.name), at: property.variable)
            return
        }
        if property.isTransient { return readTransient(property) }
        reportConstant(property)
        guard
            let type = property.type?.trimmedDescription ?? property.initializer?.literalTypeName
                ?? property.embeddedCallName
        else {
            return report(.untyped(property.name), at: property.identifier)
        }
        let syntax = property.type ?? TypeSyntax("\(raw: type)")
        let spelling = AttributeSpelling(syntax)
        let options = readOptions(property, spelling)
        let isCoded = options.contains("codable")
        guard reportUnstorable(spelling, syntax, isCoded: isCoded, in: property) else { return }
        var attribute = AttributeDeclaration(
            identifier: property.identifier.text, name: property.name, type: type)
        let wrapped = syntax.unparenthesized.wrappedType
        attribute.isOptional = wrapped != nil
        if wrapped == nil { attribute.takeDefault(property.initializer) }
        if case .reference = spelling { attribute.isReference = !isCoded }
        if isCoded { attribute.codedType = (wrapped ?? syntax).trimmedDescription }
        attribute.isEmbedded = options.contains("embedded")
        if attribute.isEmbedded { readEmbedded(&attribute, property, syntax) }
        attribute.options = options.filter { $0 != "codable" && $0 != "embedded" }
        attribute.originalName = readOriginalName(property)
        attribute.serviceName = readServiceName(property, options: options)
        reportNeeds(of: attribute, syntax, spelling, property)
        attribute.deleteRule = readRule(property, syntax, spelling)
        append(attribute, at: property.identifier)
    }

    /// Notes what an embedded struct can't be, and whether its initial value is constant.
    private mutating func readEmbedded(
        _ attribute: inout AttributeDeclaration, _ property: StoredProperty, _ type: TypeSyntax
    ) {
        if let wrapped = type.unparenthesized.wrappedType?.trimmedDescription {
            report(.embeddedOptional(wrapped), at: type, fixIts: [type.replacing(with: wrapped)])
        }
        guard let value = property.initializer, attribute.defaultValue != nil else { return }
        attribute.isDefaultConstant = value.isConstant || value.isConstantCall(of: type)
        if !attribute.isDefaultConstant {
            report(.embeddedDefaultVaries(property.name), at: value)
        }
    }

    private mutating func readToMany(_ property: StoredProperty, target: TypeSyntax) {
        let attributes = property.variable.attributes
        for mark in attributes.named("Attribute") {
            report(
                .markOnUnstored(mark: "Attribute", name: property.name), at: mark,
                fixIts: [property.variable.removing(mark)])
        }
        let relationships = attributes.named("Relationship")
        if let mark = relationships.first(where: { $0.argument("onDelete") != nil }) {
            return report(
                .toManyHasRule, at: mark, fixIts: [property.variable.removing(mark)])
        }
        guard let inverse = relationships.lazy.compactMap({ $0.argument("inverse") }).first else {
            let problem = Problem.toManyNeedsInverse(target: target.trimmedDescription)
            return report(problem, at: property.type ?? target)
        }
        reportShape(property)
        reportInverse(inverse, target: target)
        append(
            ToManyDeclaration(
                identifier: property.identifier.text, name: property.name,
                inverse: inverse.trimmedDescription))
    }

    /// Notes a to-many that can't be computed.
    private mutating func reportShape(_ property: StoredProperty) {
        let (variable, binding) = (property.variable, property.binding)
        if variable.bindings.count > 1 {
            report(.severalNames, at: binding.pattern)
        } else if let initializer = binding.initializer {
            let fix = FixIt(
                message: Remedy("remove the initial value"),
                changes: [
                    .replace(
                        oldNode: Syntax(binding), newNode: Syntax(binding.withoutInitializer))
                ])
            report(.toManyHasValue, at: initializer, fixIts: [fix])
        } else if variable.bindingSpecifier.tokenKind != .keyword(.var) {
            report(
                .toManyNotVariable, at: variable.bindingSpecifier,
                fixIts: [variable.replacingSpecifier(with: .var)])
        } else if variable.hasModifier(.lazy) || binding.accessorBlock != nil {
            report(.toManyHasValue, at: binding.accessorBlock.map(Syntax.init) ?? Syntax(variable))
        }
    }

    /// Notes an inverse that can't be a reference of the entity at the other end.
    private mutating func reportInverse(_ inverse: ExprSyntax, target: TypeSyntax) {
        guard let root = inverse.as(KeyPathExprSyntax.self)?.root else {
            let problem = Problem.inverseNeedsKeyPath(target: target.trimmedDescription)
            return report(problem, at: inverse)
        }
        if !inverse.isKeyPath(from: target) {
            let problem = Problem.inverseOfOther(
                root: root.trimmedDescription, target: target.trimmedDescription)
            report(problem, at: root)
        }
    }

    /// Notes a type that can't be stored; returns whether it can.
    private mutating func reportUnstorable(
        _ spelling: AttributeSpelling, _ type: TypeSyntax, isCoded: Bool,
        in property: StoredProperty
    ) -> Bool {
        switch spelling {
        case .supported, .reference, .list, .unknown:
            return true
        case .unsupported where isCoded:
            return true
        case .unsupported:
            let name = type.trimmedDescription
            if let integer = type.unsupportedInteger {
                report(
                    .unsupportedInteger(name, by: integer), at: type,
                    fixIts: [type.replacing(with: integer)])
            } else {
                report(
                    .unsupportedType(name), at: type,
                    fixIts: [property.variable.addingOption(".codable")])
            }
        case .implicitlyUnwrapped(let wrapped):
            report(
                .implicitlyUnwrapped(wrapped), at: type,
                fixIts: [type.replacing(with: "\(wrapped)?")])
        case .nestedOptional(let inner):
            report(.nestedOptional(inner), at: type, fixIts: [type.replacing(with: inner)])
        }
        return false
    }

    private mutating func readRule(
        _ property: StoredProperty, _ type: TypeSyntax, _ spelling: AttributeSpelling
    ) -> String? {
        let mark = property.variable.attributes.named("Relationship").first
        if mark?.argument("inverse") != nil {
            report(.inverseNeedsToMany, at: type)
            return nil
        }
        let rule = mark?.argument("onDelete")
        let name = type.trimmedDescription
        switch spelling {
        case .reference(isOptional: false):
            let fix = type.replacing(with: "\(name)?")
            guard let mark, let rule else {
                report(
                    .ruleNeeded(name), at: type,
                    fixIts: [fix, property.variable.addingRule(".deny")])
                return nil
            }
            if rule.as(MemberAccessExprSyntax.self)?.declName.baseName.text == "nullify" {
                let remove = property.variable.replacingRule(of: mark, with: ".deny")
                report(.nullifyNeedsOptional(name), at: rule, fixIts: [fix, remove])
            }
        case .supported, .list,
            .unknown where property.isEmbedded:
            if let mark {
                report(
                    .ruleNeedsReference(name), at: mark,
                    fixIts: [property.variable.removing(mark)])
            }
        default:
            break
        }
        return rule?.trimmedDescription
    }
}
