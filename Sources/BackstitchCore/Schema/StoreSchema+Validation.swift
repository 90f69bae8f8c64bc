extension StoreSchema {
    /// Everything that is wrong with the schema, each with its name and remedy.
    package var violations: [String] {
        var violations: [String] = []
        var names: Set<String> = []
        if entities.isEmpty {
            violations.append("The schema has no entities: give it the types of the records.")
        }
        if version < 0 {
            violations.append("The schema has version \(version): give it 0 or more.")
        }
        for entity in entities {
            if !names.insert(entity.name).inserted {
                violations.append(
                    "\(entity.name) is in the schema twice: list each entity once, or give one "
                        + "another name with @Entity(\"…\").")
            }
            if let reason = Self.nameViolation(entity.name) {
                violations.append("The entity name \(entity.name) \(reason)")
            }
            var attributeNames: Set<String> = []
            var fieldNames: Set<String> = []
            for attribute in entity.attributes {
                let name = "\(entity.name).\(attribute.name)"
                if !attributeNames.insert(attribute.name).inserted {
                    violations.append("\(name) is declared twice: rename one of them.")
                }
                if !fieldNames.insert(attribute.fieldName).inserted {
                    violations.append(
                        "\(name) has the field \(attribute.fieldName), which another attribute has: "
                            + "give one of them another name, originalName or serviceName.")
                }
                if attribute.fieldName != attribute.name,
                    let reason = Self.nameViolation(attribute.fieldName)
                {
                    violations.append("The field name \(attribute.fieldName) of \(name) \(reason)")
                }
                if let reason = Self.nameViolation(attribute.name) {
                    violations.append("The attribute name \(name) \(reason)")
                }
                violations += self.violations(of: attribute, named: name)
            }
            violations += entity.indexes.compactMap { $0.violation(in: entity) }
            if Set(entity.indexes).count < entity.indexes.count {
                violations.append("\(entity.name) declares an index twice: declare it once.")
            }
            violations += entity.toMany.flatMap { self.violations(of: $0, in: entity) }
        }
        for upcaster in upcasters {
            let entity = entity(named: upcaster.entity)
            if entity?.attributes.contains(where: { $0.name == upcaster.attribute }) != true {
                violations.append(
                    "An upcaster is for \(upcaster.entity).\(upcaster.attribute), which is no "
                        + "stored attribute of the schema: name one, or remove the upcaster.")
            }
        }
        return violations
    }

    private func violations(of attribute: AttributeSchema, named name: String) -> [String] {
        var violations: [String] = []
        if attribute.isIndexed, !attribute.type.isOrdered {
            violations.append(
                "\(name) is a \(attribute.type), which has no order to search by: remove .indexed "
                    + "and .unique.")
        }
        if attribute.isMandatory, !attribute.isUploaded || !attribute.isDownloaded {
            violations.append(
                "\(name) \(attribute.exchangeGap), so records from elsewhere lack it: make it "
                    + "optional or give it a default.")
        }
        guard let reference = attribute.reference else { return violations }
        if entity(named: reference.target) == nil {
            violations.append(
                "\(name) refers to \(reference.target), which is not in the schema: add "
                    + "\(reference.target).self to it.")
        }
        if reference.onDelete == .nullify, !attribute.isOptional {
            violations.append(
                "\(name) is not optional, so a delete of its target can't make it nil: make it "
                    + "optional or choose another delete rule.")
        }
        return violations
    }

    private func violations(of toMany: _ToManySchema, in entity: EntitySchema) -> [String] {
        let name = "\(entity.name).\(toMany.name)"
        guard let target = self.entity(named: toMany.target) else {
            return [
                "\(name) shows \(toMany.target), which is not in the schema: add "
                    + "\(toMany.target).self to it."
            ]
        }
        guard let inverse = toMany.inverse(),
            let attribute = target.attributes.first(where: { $0.name == inverse })
        else {
            return [
                "\(name) has an inverse that is no stored attribute of \(toMany.target): name the "
                    + "to-one relationship that points back."
            ]
        }
        guard attribute.reference?.target == entity.name else {
            return [
                "\(name) has the inverse \(toMany.target).\(inverse), which does not refer to "
                    + "\(entity.name): name the to-one relationship that points back."
            ]
        }
        return []
    }

    /// The longest name of an entity or attribute, in bytes.
    static let nameBytesMax = Catalog.nameBytesMax

    private static func nameViolation(_ name: String) -> String? {
        guard ServiceNames.isIdentifier(name) else {
            return "is not allowed by the service: begin with a letter and use ASCII letters, "
                + "digits and underscores, \(nameBytesMax) at most."
        }
        return nil
    }
}

extension AttributeSchema {
    /// What is not exchanged of it, to follow its name in a sentence.
    fileprivate var exchangeGap: String {
        if isLocalOnly { return "stays on this device" }
        return isUploaded ? "is never pulled" : "is never pushed"
    }
}
