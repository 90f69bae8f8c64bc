import SwiftDiagnostics

/// What is wrong with an entity's declaration: each message says what to write instead.
enum Problem: DiagnosticMessage, Hashable {
    case notStruct(keyword: String)
    case generic
    case nameNotLiteral
    case missingID
    case invalidID
    case conditionalProperty
    case severalNames
    case constantWithValue(String)
    case lazyProperty(String)
    case untyped(String)
    case unsupportedType(String)
    case unsupportedInteger(String, by: String)
    case implicitlyUnwrapped(String)
    case nestedOptional(String)
    case unknownOption(String)
    case duplicateOption(String)
    case markOnID(String)
    case markOnUnstored(mark: String, name: String)
    case losslessNeedsDecimal(String)
    case externalNeedsData
    case afterwardsNeedsFile
    case dataIndexed(String)
    case unordered(option: String, what: String)
    case indexedDefaultVaries(String)
    case maskNeedsValue(String, option: String)
    case maskOfLocalOnly(option: String)
    case masksTogether
    case serviceNameNotLiteral
    case serviceNameAndOriginalName
    case serviceNameOfLocalOnly(String)
    case embeddedHasOptions(String)
    case embeddedNeedsStruct(String)
    case embeddedOptional(String)
    case embeddedDefaultVaries(String)
    case embeddableNotStruct(keyword: String)
    case embeddableGeneric
    case embeddableID
    case embeddableToMany
    case transientNeedsValue(String)
    case transientHasOptions(String)
    case nameNotAllowed(String)
    case sameField(String, other: String)
    case originalNameNotLiteral
    case originalNameIsName(String)
    case ruleNeedsReference(String)
    case nullifyNeedsOptional(String)
    case ruleNeeded(String)
    case toManyNeedsInverse(target: String)
    case toManyHasRule
    case inverseNeedsToMany
    case toManyHasValue
    case toManyNotVariable
    case inverseNeedsKeyPath(target: String)
    case inverseOfOther(root: String, target: String)

    var severity: DiagnosticSeverity { .error }

    var diagnosticID: MessageID {
        let name = Mirror(reflecting: self).children.first?.label ?? String(describing: self)
        return MessageID(domain: "Backstitch", id: name)
    }

    var message: String {
        switch self {
        case .notStruct(let keyword):
            "@Entity is for structs: an entity is a value. Declare a struct, not "
                + (keyword == "class" ? "a class." : "an \(keyword).")
        case .generic:
            "An entity can't be generic: a store knows it by one name. Remove the generic "
                + "parameters."
        case .nameNotLiteral:
            "Write the entity's name as a string literal that is not empty."
        case .missingID: "An entity needs an identity. Add 'var id = ID()'."
        case .invalidID:
            "The identity of an entity is stored and has the type 'ID'. Write 'var id = ID()' or "
                + "'let id: ID'."
        case .conditionalProperty:
            "A stored property can't stand inside '#if': every build must store the same "
                + "attributes. Move it out."
        case .severalNames: "Declare each attribute by itself, with its type."
        case .constantWithValue(let name):
            "'\(name)' can't be read back: a 'let' that has a value can't be set again. Declare it "
                + "with 'var'."
        case .lazyProperty(let name):
            "'\(name)' can't be lazy: saving reads every attribute. Remove 'lazy', or make it "
                + "computed."
        case .untyped(let name): "Write the type of '\(name)', which is part of the schema."
        case .unsupportedType(let type):
            "'\(type)' can't be stored. An attribute is a \(Self.supportedTypes), or an optional "
                + "of one of these. Any Codable value can be stored with '@Attribute(.codable)'."
        case .unsupportedInteger(let type, let other):
            "'\(type)' can't be stored. The integers that can are Int, Int16, Int32 and Int64. Write "
                + "'\(other)'."
        case .implicitlyUnwrapped(let type):
            "'\(type)!' can't be stored. Write '\(type)' or '\(type)?'."
        case .nestedOptional(let type):
            "An attribute is nil or not, so an optional of an optional can't be stored. Write "
                + "'\(type)'."
        case .unknownOption(let option):
            "'\(option)' is no option of @Attribute. The options are .indexed, .unique, .lossless, "
                + ".localOnly, .notUploaded, .notDownloaded, .transient, .codable, .embedded, .external "
                + "and .afterwards."
        case .duplicateOption(let option): "'\(option)' is given twice. Remove one."
        case .markOnID(let mark):
            "The identity is always there and always found by index. Remove '@\(mark)'."
        case .markOnUnstored(let mark, let name):
            "'\(name)' is not stored in a record. Remove '@\(mark)'."
        case .losslessNeedsDecimal(let type):
            "'.lossless' is for Decimal; every '\(type)' is kept as it is. Remove it."
        case .externalNeedsData:
            "'.external' is for Data: its bytes are kept in a file. Remove it."
        case .afterwardsNeedsFile:
            "'.afterwards' is for files: an Asset, a list of them, or Data with '.external'. Remove it."
        case .dataIndexed(let type):
            "'\(type)' can't be indexed: bytes have no order to search by. Remove '.indexed'."
        case .unordered(let option, let what):
            "'.\(option)' keeps an index, and \(what) has no order to search by. Remove it."
        case .indexedDefaultVaries(let name):
            "The initial value of '\(name)' may differ each time, so an index can't hold it. Write a "
                + "constant, make the attribute optional, or remove the index."
        case .maskNeedsValue(let name, let option):
            "'\(name)' \(Self.meaning(of: option)), so records from elsewhere lack it. Make it "
                + "optional or give it an initial value."
        case .maskOfLocalOnly(let option):
            "'.localOnly' says already what '.\(option)' does. Remove one."
        case .masksTogether:
            "What is neither uploaded nor downloaded stays on the device. Write '.localOnly'."
        case .serviceNameNotLiteral:
            "Write the service's name as a string literal that is not empty."
        case .serviceNameAndOriginalName:
            "'serviceName' names the field, whatever the property was called first. Remove "
                + "'originalName'."
        case .serviceNameOfLocalOnly(let name):
            "'\(name)' is never exchanged, so the service has no name for it. Remove 'serviceName'."
        case .embeddedHasOptions(let name):
            "'\(name)' is stored in parts. Leave '.embedded' alone here, and write other options at "
                + "the properties of the struct."
        case .embeddedNeedsStruct(let type):
            "'\(type)' has no parts. Remove '.embedded', or write the type of an @Embeddable struct."
        case .embeddedOptional(let type):
            "An embedded struct is stored in parts, so it can't be nil. Write '\(type)', and make its "
                + "parts optional."
        case .embeddedDefaultVaries(let name):
            "Queries see the initial value of '\(name)' in rows that lack it, so it must be the same "
                + "each time. Write a constant, such as a call of the struct with literals."
        case .embeddableNotStruct(let keyword):
            "@Embeddable is for structs. Declare a struct, not "
                + (keyword == "class" ? "a class." : "an \(keyword).")
        case .embeddableGeneric:
            "An embeddable struct can't be generic, because its attributes have one type each. "
                + "Remove the generic parameters."
        case .embeddableID:
            "An embedded struct is a part of a record and has no identity. Rename 'id'."
        case .embeddableToMany:
            "A to-many relationship belongs to a record. Declare it in the entity."
        case .transientNeedsValue(let name):
            "'\(name)' is not stored, so every read gives it its initial value. Write one."
        case .transientHasOptions(let name):
            "'\(name)' is not stored, so nothing else can be said of it. Leave '.transient' alone."
        case .nameNotAllowed(let name):
            "The service does not allow the name '\(name)'. Begin with a letter, and use ASCII "
                + "letters, digits and underscores, 255 at most."
        case .sameField(let name, let other):
            "'\(name)' has the same field as '\(other)'. Give one of them another 'serviceName' or "
                + "'originalName'."
        case .originalNameNotLiteral:
            "Write the original name as a string literal that is not empty."
        case .originalNameIsName(let name):
            "'\(name)' is the property's own name. Write the name that it had first, or remove "
                + "'originalName'."
        case .ruleNeedsReference(let type):
            "'onDelete' is for references to other records. '\(type)' is none: write the ID of an "
                + "entity, such as 'Department.ID?', or remove the rule."
        case .nullifyNeedsOptional(let type):
            "'.nullify' sets the reference to nil, which '\(type)' can't be. Write '\(type)?', or "
                + "choose .cascade, .deny or .noAction."
        case .ruleNeeded(let type):
            "Deleting the target would set this reference to nil, which '\(type)' can't be. Write "
                + "'\(type)?', or say what happens with "
                + "'@Relationship(onDelete: .cascade)', '.deny' or '.noAction'."
        case .toManyNeedsInverse(let target):
            "A ToMany holds no records: say which reference points back, as in "
                + "'@Relationship(inverse: \\\(target).owner)'."
        case .toManyHasRule:
            "The delete rule belongs to the other side. Write '@Relationship(onDelete:)' at the "
                + "reference that points back."
        case .inverseNeedsToMany:
            "'inverse' is for to-many relationships. Write the type 'ToMany<…>', with the entity "
                + "whose records point here."
        case .toManyHasValue: "A ToMany is computed. Remove the initial value."
        case .toManyNotVariable: "A ToMany is computed. Declare it with 'var'."
        case .inverseNeedsKeyPath(let target):
            "Write the inverse as a key path that starts with the entity, as in "
                + "'\\\(target).owner'."
        case .inverseOfOther(let root, let target):
            "The records of this relationship are of the entity '\(target)', so its inverse can't "
                + "be an attribute of '\(root)'. Write a key path that starts with '\\\(target)'."
        }
    }

    /// What an option that masks an attribute means, to follow its name.
    private static func meaning(of option: String) -> String {
        switch option {
        case "notUploaded": "is never pushed"
        case "notDownloaded": "is never pulled"
        default: "stays on this device"
        }
    }

    /// The types of attributes, for messages.
    static let supportedTypes =
        "String, Bool, Int, Int16, Int32, Int64, Float, Double, Decimal, Date, Data, UUID, URL, "
        + "GeoLocation, Duration, Asset, an enum that conforms to EnumAttributeValue, a list of "
        + "these, the ID of an entity"
}

/// The title of a fix-it.
struct Remedy: FixItMessage {
    let message: String

    init(_ message: String) { self.message = message }

    var fixItID: MessageID { MessageID(domain: "Backstitch", id: message) }
}
